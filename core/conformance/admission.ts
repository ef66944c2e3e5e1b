import { randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { Authenticator } from '../contract/capabilities/authenticator.js'
import { BrowserSession } from '../contract/capabilities/browser-session.js'
import { Guard } from '../contract/capabilities/guard.js'
import { BearerToken } from '../contract/credentials.js'
import { Refusal } from '../contract/errors.js'
import {
  type CheckResult,
  type ConformanceContext,
  type ConformanceSuite,
  firstFault,
  firstFaultyRequest,
  isObject,
  isText,
  leavesRequestUnchanged,
  messageOf,
} from './requirement.js'

export const guardConformance: ConformanceSuite<Guard> = {
  capability: Guard,
  requirements: [
    {
      code: 'GUARD_THROWS',
      statement: 'admits or refuses every request, also an unusual one',
      advice:
        'return to admit a request, throw a Refusal to refuse it; any other error refuses every request',
      check: (guard, context) =>
        firstFaultyRequest(context, async (request) => {
          try {
            await guard(request)
            return undefined
          } catch (error) {
            if (error instanceof Refusal) return undefined
            return `on ${request.method} ${request.url.slice(0, 40)} it throws: ${messageOf(error)}`
          }
        }),
    },
    leavesRequestUnchanged((guard, request) => guard(request)),
  ],
}

const KINDS = ['notMine', 'invalid', 'unavailable', 'busy']
const UNKNOWN_TOKENS = ['a', 'e30.e30.', 'eyJhbGciOiJub25lIn0.e30.', 'A'.repeat(64)]

/** The fault in the form of a verdict. */
function malformed(verdict: unknown): string | undefined {
  if (!isObject(verdict)) return 'it returns no verdict'
  const { identity, rejection } = verdict
  if (identity !== undefined && rejection !== undefined)
    return 'its verdict has both an identity and a rejection'
  if (isObject(identity)) {
    if (!isText(identity['subject'])) return 'its identity has no subject'
    return isObject(identity['claims']) ? undefined : 'its identity has no claims, not even an empty object'
  }
  if (!isObject(rejection)) return 'it returns no verdict'
  if (!KINDS.includes(String(rejection['kind'])))
    return `the kind of its rejection is none of ${KINDS.join(', ')}`
  return typeof rejection['cause'] === 'string' ? undefined : 'its rejection names no cause'
}

/** The verdict on each sample request; one that throws counts as a rejection, since another requirement reports it. */
const firstFaultyVerdict = (
  authenticator: Authenticator,
  context: ConformanceContext,
  check: (verdict: unknown, request: FastifyRequest) => CheckResult,
): Promise<CheckResult> =>
  firstFaultyRequest(context, async (request) => {
    let verdict: unknown
    try {
      verdict = await authenticator.authenticate(request)
    } catch {
      verdict = { rejection: { kind: 'invalid', cause: 'threw' } }
    }
    return check(verdict, request)
  })

const accepts = (verdict: unknown): boolean => isObject(verdict) && verdict['identity'] !== undefined

export const authenticatorConformance: ConformanceSuite<Authenticator> = {
  capability: Authenticator,
  requirements: [
    {
      code: 'AUTHENTICATOR_UNNAMED',
      statement: 'names its provider',
      advice: 'set `provider`: it is in the log, in metrics and in audit events',
      check: ({ provider }) => (isText(provider) ? undefined : '`provider` is empty, or no text'),
    },
    {
      code: 'AUTHENTICATOR_THROWS',
      statement: 'gives a verdict on every request and never throws',
      advice:
        'return { rejection } for bad credentials, so that the next authenticator in the list can still accept them',
      check: (authenticator, context) =>
        firstFaultyRequest(context, async (request) => {
          try {
            await authenticator.authenticate(request)
            return undefined
          } catch (error) {
            return `it throws: ${messageOf(error)}`
          }
        }),
    },
    {
      code: 'VERDICT_MALFORMED',
      statement: 'returns a verdict',
      advice: 'return { identity: { provider, subject, claims } } or { rejection: { kind, cause } }',
      check: (authenticator, context) => firstFaultyVerdict(authenticator, context, malformed),
    },
    {
      code: 'AUTHENTICATOR_LAX',
      statement: 'accepts no request without an issued token, unless it is open',
      advice:
        'return { rejection } unless the token was verified; `open: true` says that no request needs a token',
      check: (authenticator, context) =>
        firstFaultyVerdict(authenticator, context, (verdict, { credentials }) => {
          if (authenticator.open === true || !accepts(verdict)) return undefined
          const sample =
            credentials.kind === 'bearer' ? 'a token that no provider issued' : 'a request without a token'
          return `${sample} is accepted`
        }),
    },
    {
      code: 'OPEN_REJECTS',
      statement: 'accepts every request when it is open',
      advice: 'leave out `open` where requests need a token: tools and other plugins rely on it',
      check: (authenticator, context) =>
        firstFaultyVerdict(authenticator, context, (verdict) =>
          authenticator.open !== true || accepts(verdict) ? undefined : 'it is open and rejects a request',
        ),
    },
    {
      code: 'REJECTION_TELLS',
      statement: 'keeps tokens out of the log',
      advice: 'name a class in `cause`, such as "signature", and no part of the token in `detail`',
      check: (authenticator, context) =>
        firstFaultyVerdict(authenticator, context, (verdict, { credentials }) => {
          if (credentials.kind !== 'bearer' || credentials.token.length < 8 || !isObject(verdict))
            return undefined
          const logged = JSON.stringify(verdict['rejection'] ?? '')
          return logged.includes(credentials.token) ? 'its rejection repeats the token' : undefined
        }),
    },
    leavesRequestUnchanged((authenticator, request) => authenticator.authenticate(request)),
    {
      code: 'TOKEN_REFUSED',
      statement: 'accepts a valid token',
      advice: 'compare `fixtures.token` with the options that the plugin was given',
      async check(authenticator, context) {
        const { token } = context.fixtures
        if (token === undefined) return undefined
        let fault: string | undefined
        await context.authenticatedRequest(async (request) => {
          request.credentials = new BearerToken(token)
          const verdict: unknown = await authenticator.authenticate(request)
          fault =
            isObject(verdict) && 'identity' in verdict
              ? malformed(verdict)
              : 'it refuses the valid token of `fixtures`'
        })
        return fault
      },
    },
    {
      code: 'EXPLANATION_WRONG',
      statement: 'explains the verdict that it gives',
      advice:
        'return { verdict, findings } from `explain`, with the verdict of `authenticate` on the same token',
      awaits: UNKNOWN_TOKENS.length + 1,
      check: explained,
    },
  ],
}

async function explained(
  authenticator: Authenticator,
  { fixtures }: ConformanceContext,
): Promise<CheckResult> {
  if (authenticator.explain === undefined) return undefined
  const tokens = UNKNOWN_TOKENS.map((token) => [token, authenticator.open === true] as const)
  if (fixtures.token !== undefined) tokens.push([fixtures.token, true])
  return firstFault(tokens, async ([token, accepted]) => {
    const explanation: unknown = await authenticator.explain?.(token)
    if (!isObject(explanation)) return 'it explains nothing'
    const { verdict, findings } = explanation
    const fault = malformed(verdict)
    if (fault !== undefined) return fault
    if (accepts(verdict) !== accepted) {
      return accepted
        ? 'it explains a refusal of a token that it accepts'
        : 'it explains why it accepts a token that no provider issued'
    }
    return Array.isArray(findings) && findings.every(isFinding)
      ? undefined
      : '`findings` is no list of findings'
  })
}

const isFinding = (finding: unknown): boolean =>
  isObject(finding) &&
  isText(finding['about']) &&
  typeof finding['holds'] === 'boolean' &&
  typeof finding['detail'] === 'string'

/** Return addresses that an attacker could make up. */
const RETURNS = ['/a?b=c', 'https://evil.invalid/', '//evil.invalid', '/\\evil.invalid', '/\r\nx: y', '']

const isOwnPath = (path: unknown): boolean =>
  typeof path === 'string' && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path)

const tokenOf = async (session: BrowserSession, request: FastifyRequest): Promise<CheckResult> => {
  try {
    const token: unknown = await session.token(request)
    return token === undefined ? undefined : 'it returns a token for a request without a session'
  } catch (error) {
    return `it throws: ${messageOf(error)}`
  }
}

export const browserSessionConformance: ConformanceSuite<BrowserSession> = {
  capability: BrowserSession,
  requirements: [
    {
      code: 'SESSION_MADE_UP',
      statement: 'returns no token for a request without a session',
      advice:
        'return undefined unless a signature or a seal proves that this gateway made the session data of the request',
      check: (session, context) => firstFaultyRequest(context, (request) => tokenOf(session, request)),
    },
    {
      code: 'PERSON_MADE_UP',
      statement: 'names no person for a request without a session',
      advice: 'return undefined unless `token` found a session of that request',
      check: (session, context) =>
        firstFaultyRequest(context, (request) =>
          session.person(request) === undefined
            ? undefined
            : 'it names a person for a request without a session',
        ),
    },
    {
      code: 'SIGN_IN_PATH_MALFORMED',
      statement: 'has paths of this gateway to sign in and out',
      advice: 'begin them with one slash, and encode the return address',
      check: (session) =>
        firstFault(
          [...RETURNS.map((each) => session.signInPath(each)), session.signOutPath],
          (path): CheckResult =>
            isOwnPath(path) ? undefined : `${JSON.stringify(path)} is no path of this gateway`,
        ),
    },
    leavesRequestUnchanged((session, request) => session.token(request)),
  ],
}

/** A name that is not in use yet. */
export const randomName = (): string => `conformance-${randomBytes(6).toString('hex')}`

/** Names with a meaning for a file system, a database or an object of JavaScript. */
export const UNUSUAL_NAMES = [
  '../../etc/passwd',
  '/etc/passwd',
  '..',
  '.',
  '',
  ' ',
  'a/b',
  'a\0b',
  '__proto__',
  'constructor',
  'ä',
]
