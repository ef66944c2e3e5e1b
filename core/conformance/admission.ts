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
      statement: 'lets every request pass or refuses it, whatever it looks like',
      advice:
        'a guard returns to let a request pass, or throws a Refusal; any other error shuts everybody out',
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

/** What is wrong with the form of a verdict. */
function malformed(verdict: unknown): string | undefined {
  if (!isObject(verdict)) return 'its answer is no verdict'
  const { identity, rejection } = verdict
  if (identity !== undefined && rejection !== undefined) return 'it accepts and rejects at once'
  if (isObject(identity)) {
    if (!isText(identity['subject'])) return 'its identity has no subject'
    return isObject(identity['claims']) ? undefined : 'its identity has no claims, not even an empty object'
  }
  if (!isObject(rejection)) return 'its answer is no verdict'
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
      statement: 'answers every request and throws for none',
      advice: 'answer { rejection } for bad credentials, so that the next one in the list can still accept',
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
      statement: 'answers with a verdict',
      advice: 'answer { identity: { provider, subject, claims } } or { rejection: { kind, cause } }',
      check: (authenticator, context) => firstFaultyVerdict(authenticator, context, malformed),
    },
    {
      code: 'AUTHENTICATOR_LAX',
      statement: 'accepts nobody without a token that was issued, unless it is open',
      advice:
        'answer { rejection } unless the token was verified; `open: true` says that nobody is asked for one',
      check: (authenticator, context) =>
        firstFaultyVerdict(authenticator, context, (verdict, { credentials }) => {
          if (authenticator.open === true || !accepts(verdict)) return undefined
          const who =
            credentials.kind === 'bearer' ? 'a token that nobody issued' : 'a request without a token'
          return `${who} is accepted`
        }),
    },
    {
      code: 'OPEN_REJECTS',
      statement: 'accepts everybody when it is open',
      advice: 'leave `open` out where a token is asked for: tools and other plugins go by it',
      check: (authenticator, context) =>
        firstFaultyVerdict(authenticator, context, (verdict) =>
          authenticator.open !== true || accepts(verdict) ? undefined : 'it is open and rejects a request',
        ),
    },
    {
      code: 'REJECTION_TELLS',
      statement: 'keeps tokens out of what is logged',
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
      statement: 'accepts a token that is good',
      advice: 'compare `fixtures.token` with the options that the plugin was given',
      async check(authenticator, context) {
        const { token } = context.fixtures
        if (token === undefined) return undefined
        let fault: string | undefined
        await context.authenticatedRequest(async (request) => {
          request.credentials = new BearerToken(token)
          const verdict: unknown = await authenticator.authenticate(request)
          fault =
            isObject(verdict) && 'identity' in verdict ? malformed(verdict) : 'the good token is refused'
        })
        return fault
      },
    },
    {
      code: 'EXPLANATION_WRONG',
      statement: 'explains the verdict that it gives',
      advice:
        'answer { verdict, findings } from `explain`, with the verdict of `authenticate` on the same token',
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
        ? 'it explains why it refuses what it accepts'
        : 'it explains why it accepts a token that nobody issued'
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

/** Return addresses as a stranger would make them up. */
const RETURNS = ['/a?b=c', 'https://evil.invalid/', '//evil.invalid', '/\\evil.invalid', '/\r\nx: y', '']

const isOwnPath = (path: unknown): boolean =>
  typeof path === 'string' && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path)

const tokenOf = async (session: BrowserSession, request: FastifyRequest): Promise<CheckResult> => {
  try {
    const token: unknown = await session.token(request)
    return token === undefined ? undefined : 'it has a token for a request of nobody'
  } catch (error) {
    return `it throws: ${messageOf(error)}`
  }
}

export const browserSessionConformance: ConformanceSuite<BrowserSession> = {
  capability: BrowserSession,
  requirements: [
    {
      code: 'SESSION_MADE_UP',
      statement: 'has no token for a request without a session',
      advice:
        'answer undefined unless what the request brings was made here: it is seen by a signature or a seal',
      check: (session, context) => firstFaultyRequest(context, (request) => tokenOf(session, request)),
    },
    {
      code: 'PERSON_MADE_UP',
      statement: 'names nobody for a request without a session',
      advice: 'answer undefined unless `token` found a session of that request',
      check: (session, context) =>
        firstFaultyRequest(context, (request) =>
          session.person(request) === undefined ? undefined : 'it names somebody for a request of nobody',
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

/** A name that nothing has yet. */
export const randomName = (): string => `conformance-${randomBytes(6).toString('hex')}`

/** Names that mean something to a file system, a database or an object of JavaScript. */
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
