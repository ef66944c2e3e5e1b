import type { FastifyRequest } from 'fastify'
import type { Many, One } from 'sallyport'

/** What only the author knows; without it the clauses that need it are passed over. */
export interface Facts {
  /** A token that the authenticator accepts. */
  readonly token?: string
  /** A secret that the store holds. */
  readonly secret?: { readonly name: string; readonly value: string }
}

/** Where a contract is held against a plugin: a gateway that was booted for it. */
export interface Place {
  readonly facts: Facts
  /** Milliseconds that a promise may take. */
  readonly patience: number
  /** Hands over requests of every odd kind, one after the other, nobody behind them. */
  strangers(ask: (request: FastifyRequest) => unknown): Promise<void>
  /** Hands over a request of somebody who was let in. */
  caller(ask: (request: FastifyRequest) => unknown): Promise<void>
}

/** It could not be seen whether a clause is kept. */
export class Doubt {
  constructor(readonly reason: string) {}
}

/** One thing that a contract asks for. */
export interface Clause<T> {
  /** For programs. */
  readonly code: string
  /** What is asked for, as the end of a sentence that begins with the plugin. */
  readonly asks: string
  /** What to do when it is not kept. */
  readonly advice: string
  /** How many answers it waits for, when they are more than one; each has the whole patience. */
  readonly answers?: number
  /** Says what is wrong, or nothing. */
  look(subject: T, place: Place): Outcome | Promise<Outcome>
}

export type Outcome = string | Doubt | undefined

/** Everything that a capability asks of whoever provides it. */
export interface Contract<T> {
  readonly capability: One<T> | Many<T>
  readonly clauses: readonly Clause<T>[]
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** The first of these that is wrong. */
export async function firstFault<T>(
  items: Iterable<T>,
  look: (item: T) => Outcome | Promise<Outcome>,
): Promise<Outcome> {
  for (const item of items) {
    const fault = await look(item)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** Asks with every odd request until something is wrong. */
export async function amongStrangers(
  place: Place,
  look: (request: FastifyRequest) => Outcome | Promise<Outcome>,
): Promise<Outcome> {
  let fault: Outcome
  await place.strangers(async (request) => {
    fault ??= await look(request)
  })
  return fault
}

/** That a request is looked at and not changed: whoever comes next reads the same one. */
export const leavesRequestsAlone = <T>(ask: (subject: T, request: FastifyRequest) => unknown): Clause<T> => ({
  code: 'REQUEST_CHANGED',
  asks: 'leaves the request as it came',
  advice: 'take a copy: the next in the list, and the target, get this very request',
  look: (subject, place) =>
    amongStrangers(place, async (request) => {
      const before = pictureOf(request)
      await Promise.resolve()
        .then(() => ask(subject, request))
        .catch(() => {})
      return pictureOf(request) === before ? undefined : 'it changes the headers or the URL of the request'
    }),
})

const pictureOf = ({ headers, raw }: FastifyRequest): string =>
  JSON.stringify([headers, raw.headers, raw.rawHeaders, raw.url, raw.method])
