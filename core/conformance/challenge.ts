import { Challenge } from '../contract/capabilities/challenge.js'
import { Refusal } from '../contract/errors.js'
import {
  type CheckResult,
  type ConformanceContext,
  type ConformanceSuite,
  firstFault,
  firstFaultyRequest,
  leavesRequestUnchanged,
  messageOf,
} from './requirement.js'
import { CALLER_TEXT } from './sample-requests.js'

const REFUSALS = [
  new Refusal(401, 'UNAUTHORIZED', 'this needs a bearer token'),
  new Refusal(401, 'INVALID_TOKEN', 'the token was not accepted'),
  new Refusal(403, 'INSUFFICIENT_SCOPE', 'a scope is missing', { challenge: { scope: 'read write' } }),
  // A plugin may write its message in any language, with quotes.
  new Refusal(401, 'ORIGIN_FORBIDDEN', 'no "ä" \\ here\r\nx-injected: yes', {
    challenge: { hint: '"\\\r\n' },
  }),
]

const TOKEN = "[!#$%&'*+.^_`|~\\w-]+"
const PARAMETER = `${TOKEN} ?= ?(?:"(?:[^"\\\\]|\\\\.)*"|${TOKEN})`
// One or more challenges, each a scheme with parameters or with a token68 (RFC 9110, 11.6.1).
const CHALLENGES = new RegExp(
  `^${TOKEN}(?: (?:${PARAMETER}|[\\w.~+/-]+=*))?(?:, ?(?:${TOKEN} )?(?:${PARAMETER}|${TOKEN}))*$`,
)

/** Checks the header for each refusal of each request; another requirement reports one that throws. */
const firstFaultyHeader = (
  challenge: Challenge,
  context: ConformanceContext,
  check: (header: unknown, token: string | undefined) => CheckResult,
): Promise<CheckResult> =>
  firstFaultyRequest(context, (request) =>
    firstFault(REFUSALS, (refusal) => {
      try {
        const { credentials } = request
        const header: unknown = challenge.header(refusal, request)
        return check(header, credentials.kind === 'bearer' ? credentials.token : undefined)
      } catch {
        return undefined
      }
    }),
  )

export const challengeConformance: ConformanceSuite<Challenge> = {
  capability: Challenge,
  requirements: [
    {
      code: 'CHALLENGE_THROWS',
      statement: 'has a challenge for every refusal',
      advice: 'return a bare "Bearer" for an unknown refusal',
      check: (challenge, context) =>
        firstFaultyRequest(context, (request) =>
          firstFault(REFUSALS, (refusal) => {
            try {
              challenge.header(refusal, request)
              return undefined
            } catch (error) {
              return `for ${refusal.code} it throws: ${messageOf(error)}`
            }
          }),
        ),
    },
    {
      code: 'CHALLENGE_MALFORMED',
      statement: 'returns the value of WWW-Authenticate',
      advice:
        'return printable ASCII such as `Bearer realm="x"`, with quotes and backslashes escaped, and no promise',
      check: (challenge, context) =>
        firstFaultyHeader(challenge, context, (header) =>
          typeof header === 'string' && /^[\x20-\x7e]+$/.test(header) && CHALLENGES.test(header)
            ? undefined
            : 'it does not return a value of WWW-Authenticate',
        ),
    },
    {
      code: 'CHALLENGE_REFLECTS',
      statement: 'repeats nothing from the request',
      advice:
        'make it from options and fixed text: with an address from the caller, clients would get their token there',
      check: (challenge, context) =>
        firstFaultyHeader(challenge, context, (header, token) => {
          const text = String(header)
          if (text.includes(CALLER_TEXT)) return 'it repeats the host, the origin or the URL of the request'
          return token !== undefined && token.length >= 8 && text.includes(token)
            ? 'it repeats the token'
            : undefined
        }),
    },
    {
      code: 'CHALLENGE_STATUS',
      statement: 'uses 401 or 503 when the token could not be checked',
      advice: 'set `unavailableStatus` to 401 or 503, or leave it out for 401',
      check: ({ unavailableStatus }) =>
        [undefined, 401, 503].includes(unavailableStatus)
          ? undefined
          : `\`unavailableStatus\` is ${unavailableStatus}`,
    },
    leavesRequestUnchanged((challenge, request) =>
      challenge.header(REFUSALS[0] ?? new Refusal(401, '', ''), request),
    ),
  ],
}
