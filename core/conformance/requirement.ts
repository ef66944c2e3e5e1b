import type { FastifyRequest } from 'fastify'
import type { Many, One } from '../contract/capability.js'
import type { Identity } from '../contract/identity.js'

export { messageOf } from '../toolkit/message-of.js'

/** Values that only the author of a plugin knows; without them, the requirements that need them are skipped. */
export interface Fixtures {
  /** A token that the authenticator accepts. */
  readonly token?: string
  /** A secret that the store holds. */
  readonly secret?: { readonly name: string; readonly value: string }
  /** A person who can sign in at the provider of a login. */
  readonly person?: PersonFixture
  /** A caller whose tokens of the identity provider are held. */
  readonly caller?: Identity
}

interface PersonFixture {
  /** The redirect URI that the provider knows. */
  readonly redirectUri: string
  /** Signs in from this page, and gives the query with which the browser comes back to `redirectUri`. */
  signIn(url: string): Promise<string>
}

/** The gateway that was booted to test a plugin. */
export interface ConformanceContext {
  readonly fixtures: Fixtures
  /** Milliseconds that one promise of the plugin may take. */
  readonly timeout: number
  /** Runs `check` with each of the sample requests, none of them authenticated. */
  anonymousRequests(check: (request: FastifyRequest) => unknown): Promise<void>
  /** Runs `check` with the request of an authenticated caller. */
  authenticatedRequest(check: (request: FastifyRequest) => unknown): Promise<void>
}

/** The test could not find out whether a requirement is met. */
export class Inconclusive {
  constructor(readonly reason: string) {}
}

/** The fault; nothing when the requirement is met. */
export type CheckResult = string | Inconclusive | undefined

/** One thing that a capability requires of its providers. */
export interface Requirement<T> {
  /** For programs. */
  readonly code: string
  /** The requirement, as the end of a sentence that begins with the plugin. */
  readonly statement: string
  /** The advice for a requirement that is not met. */
  readonly advice: string
  /** How many promises of the plugin the check awaits, when more than one; each may take the whole timeout. */
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

/** The first fault among these values. */
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

/** The first fault among the sample requests. */
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

/** Checks that a request is read and not changed: the next plugin in the list reads the same object. */
export const leavesRequestUnchanged = <T>(
  call: (provider: T, request: FastifyRequest) => unknown,
): Requirement<T> => ({
  code: 'REQUEST_CHANGED',
  statement: 'leaves the request unchanged',
  advice:
    'copy the request before you change it: the next plugin in the list, and the target, get the same object',
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
