import { Credential, type OutgoingCredential } from '../contract/capabilities/credential.js'
import { GatewayError } from '../contract/errors.js'
import { LONGEST_WAIT } from '../toolkit/duration.js'
import { isHeaderValue } from '../toolkit/header.js'
import {
  type CheckResult,
  type ConformanceContext,
  type ConformanceSuite,
  hasName,
  isObject,
  leavesRequestUnchanged,
  messageOf,
} from './requirement.js'

const HELD: OutgoingCredential = {
  header: 'authorization',
  value: 'Bearer before',
  accessToken: 'before',
  idToken: 'before',
}
const REFUSED = { status: 401, attempt: 1, challenges: ['Bearer error="invalid_token"', ''] } as const

function malformed(presented: unknown): string | undefined {
  if (presented === undefined) return undefined
  if (!isObject(presented)) return 'what it presents is no object'
  const { header, value, expiresAt } = presented
  if (typeof header !== 'string' || !/^[!#$%&'*+.^_`|~\da-z-]+$/.test(header)) {
    return `its header is not the name of a header in lower case: ${JSON.stringify(header)}`
  }
  if (typeof value !== 'string' || !isHeaderValue(value)) return 'its value cannot be sent in a header'
  // Seconds of the year 5138; milliseconds since 1973.
  const seconds = expiresAt === undefined || (typeof expiresAt === 'number' && expiresAt < 1e11)
  return seconds ? undefined : '`expiresAt` is in seconds since the epoch, not in milliseconds'
}

/** Asks it twice: alone, and after another credential of the list. */
async function presented(
  context: ConformanceContext,
  check: (
    present: (credential: Credential) => Promise<unknown>,
    held: OutgoingCredential | undefined,
  ) => Promise<CheckResult>,
): Promise<CheckResult> {
  let fault: CheckResult
  for (const before of [undefined, HELD]) {
    await context.authenticatedRequest(async (request) => {
      const held = before && { ...before }
      fault ??= await check(async (credential) => credential.present(request, held), held)
    })
  }
  return fault
}

export const credentialConformance: ConformanceSuite<Credential> = {
  capability: Credential,
  requirements: [
    hasName('CREDENTIAL_UNNAMED'),
    {
      code: 'DEADLINE_MALFORMED',
      statement: 'has a deadline in milliseconds, or none',
      advice: 'set `deadline` to more than 0 and at most 24 days, or leave it out',
      check: ({ deadline }) =>
        deadline === undefined || (deadline > 0 && deadline <= LONGEST_WAIT)
          ? undefined
          : `its deadline is ${deadline}`,
    },
    {
      code: 'CREDENTIAL_THROWS',
      statement: 'presents a credential, or says on purpose why there is none',
      advice: 'throw an UpstreamError with a code and a status: callers get these, and nothing else',
      check: (credential, context) =>
        presented(context, async (present) => {
          try {
            await present(credential)
            return undefined
          } catch (error) {
            return error instanceof GatewayError ? undefined : `it throws: ${messageOf(error)}`
          }
        }),
    },
    {
      code: 'CREDENTIAL_MALFORMED',
      statement: 'presents what can be sent',
      advice: 'answer { header, value } with the name in lower case, or undefined when it has nothing to add',
      check: (credential, context) =>
        presented(context, async (present) => malformed(await present(credential).catch(() => undefined))),
    },
    {
      code: 'HELD_CHANGED',
      statement: 'leaves what the credential before it holds as it is',
      advice: 'answer a new object: the one before may be remembered, and used for other requests',
      check: (credential, context) =>
        presented(context, async (present, held) => {
          await present(credential).catch(() => {})
          const same = held === undefined || JSON.stringify(held) === JSON.stringify(HELD)
          return same ? undefined : 'it changes what the one before it holds'
        }),
    },
    {
      code: 'RENEW_MALFORMED',
      statement: 'says by true or false whether another try is worth it',
      advice: 'answer `true` only when the next `present` gives something new; throw nothing',
      async check(credential, context) {
        let fault: CheckResult
        await context.authenticatedRequest(async (request) => {
          try {
            const answer: unknown = await credential.renew?.(request, REFUSED)
            if (answer !== undefined && typeof answer !== 'boolean')
              fault = 'it answers neither true nor false'
          } catch (error) {
            if (!(error instanceof GatewayError)) fault = `it throws: ${messageOf(error)}`
          }
        })
        return fault
      },
    },
    leavesRequestUnchanged((credential, request) => credential.present(request, undefined)),
  ],
}
