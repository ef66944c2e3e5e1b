import type { FastifyRequest } from 'fastify'
import type { Many, One } from '../contract/capability.js'
import type { Identity } from '../contract/identity.js'

export { messageOf } from '../toolkit/message-of.js'

/** What only the author of a plugin knows; without it the requirements that need it are skipped. */
export interface Fixtures {
  /** A token that the authenticator accepts. */
  readonly token?: string
  /** A secret that the store holds. */
  readonly secret?: { readonly name: string; readonly value: string }
  /** A caller whose tokens of the identity provider are held. */
  readonly caller?: Identity
}

/** The gateway that was booted to test a plugin in. */
export interface ConformanceContext {
  readonly fixtures: Fixtures
  /** Milliseconds that one promise of the plugin may take. */
  readonly timeout: number
  /** Runs `check` with each of the sample requests, none of them authenticated. */
  anonymousRequests(check: (request: FastifyRequest) => unknown): Promise<void>
  /** Runs `check` with the request of an authenticated caller. */
  authenticatedRequest(check: (request: FastifyRequest) => unknown): Promise<void>
}

/** It could not be found out here whether a requirement is met. */
export class Inconclusive {
  constructor(readonly reason: string) {}
}

/** What is wrong; nothing when the requirement is met. */
export type CheckResult = string | Inconclusive | undefined

/** One thing that a capability requires of its providers. */
export interface Requirement<T> {
  /** For programs. */
  readonly code: string
  /** What is required, as the end of a sentence that begins with the plugin. */
  readonly statement: string
  /** What to do when it is not met. */
  readonly advice: string
  /** How many promises of the plugin it awaits, when more than one; each may take the whole timeout. */
  readonly awaits?: number
  check(provider: T, context: ConformanceContext): CheckResult | Promise<CheckResult>
}

/** Everything that a capability requires of its providers. */
export interface ConformanceSuite<T> {
  readonly capability: One<T> | Many<T>
  readonly requirements: readonly Requirement<T>[]
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

export const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** The first of these that is wrong. */
export async function firstFault<T>(
  items: Iterable<T>,
  check: (item: T) => CheckResult | Promise<CheckResult>,
): Promise<CheckResult> {
  for (const item of items) {
    const fault = await check(item)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** The first sample request for which something is wrong. */
export async function firstFaultyRequest(
  context: ConformanceContext,
  check: (request: FastifyRequest) => CheckResult | Promise<CheckResult>,
): Promise<CheckResult> {
  let fault: CheckResult
  await context.anonymousRequests(async (request) => {
    fault ??= await check(request)
  })
  return fault
}

/** `name` is in messages, on `/readiness` and in metrics. */
export const hasName = <T extends { readonly name: string }>(code: string): Requirement<T> => ({
  code,
  statement: 'has a name',
  advice: 'set `name`: it is shown in the log and in messages',
  check: ({ name }) => (isText(name) ? undefined : '`name` is empty, or no text'),
})

/** That a request is read and not changed: the next in the list reads the same one. */
export const leavesRequestUnchanged = <T>(
  call: (provider: T, request: FastifyRequest) => unknown,
): Requirement<T> => ({
  code: 'REQUEST_CHANGED',
  statement: 'leaves the request as it came',
  advice: 'take a copy: the next in the list, and the target, get this very request',
  check: (provider, context) =>
    firstFaultyRequest(context, async (request) => {
      const before = snapshotOf(request)
      await Promise.resolve()
        .then(() => call(provider, request))
        .catch(() => {})
      return snapshotOf(request) === before ? undefined : 'it changes the headers or the URL of the request'
    }),
})

const snapshotOf = ({ headers, raw }: FastifyRequest): string =>
  JSON.stringify([headers, raw.headers, raw.rawHeaders, raw.url, raw.method])
