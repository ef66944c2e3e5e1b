import { Credential, type OutgoingCredential } from '../contract/capabilities/credential.js'
import { HeaderSource } from '../contract/capabilities/header-source.js'
import { type OpenTunnel, Tunnel } from '../contract/capabilities/tunnel.js'
import { GatewayError } from '../contract/errors.js'
import { within } from '../toolkit/deadline.js'
import { LONGEST_WAIT } from '../toolkit/duration.js'
import { headerName, isHeaderValue } from '../toolkit/header.js'
import {
  type CheckResult,
  type ConformanceContext,
  type ConformanceSuite,
  hasName,
  Inconclusive,
  isObject,
  isText,
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
  if (!isObject(presented)) return 'its credential is no object'
  const { header, value, expiresAt } = presented
  if (typeof header !== 'string' || !/^[!#$%&'*+.^_`|~\da-z-]+$/.test(header)) {
    return `its header is not the name of a header in lower case: ${JSON.stringify(header)}`
  }
  if (typeof value !== 'string' || !isHeaderValue(value)) return 'its value cannot be sent in a header'
  // Seconds of the year 5138; milliseconds since 1973.
  const seconds = expiresAt === undefined || (typeof expiresAt === 'number' && expiresAt < 1e11)
  return seconds ? undefined : '`expiresAt` is in seconds since the epoch, not in milliseconds'
}

/** Calls it twice: alone, and after another credential of the list. */
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
      statement: 'presents a credential, or throws a GatewayError that says why there is none',
      advice: 'throw an UpstreamError with a code and a status: callers get only these',
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
      statement: 'presents a credential that can be sent',
      advice:
        'return { header, value } with the name in lower case, or undefined when there is nothing to add',
      check: (credential, context) =>
        presented(context, async (present) => malformed(await present(credential).catch(() => undefined))),
    },
    {
      code: 'HELD_CHANGED',
      statement: 'leaves the credential before it unchanged',
      advice: 'return a new object: the credential before it may be cached, and used for other requests',
      check: (credential, context) =>
        presented(context, async (present, held) => {
          await present(credential).catch(() => {})
          const same = held === undefined || JSON.stringify(held) === JSON.stringify(HELD)
          return same ? undefined : 'it changes the credential before it'
        }),
    },
    {
      code: 'RENEW_MALFORMED',
      statement: 'returns true or false for whether another try makes sense',
      advice: 'return `true` only when the next `present` returns a new credential; throw nothing',
      async check(credential, context) {
        let fault: CheckResult
        await context.authenticatedRequest(async (request) => {
          try {
            const answer: unknown = await credential.renew?.(request, REFUSED)
            if (answer !== undefined && typeof answer !== 'boolean')
              fault = 'it returns neither true nor false'
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

export const headerSourceConformance: ConformanceSuite<HeaderSource> = {
  capability: HeaderSource,
  requirements: [
    {
      code: 'HEADERS_THROW',
      statement: 'returns headers for every request',
      advice: 'return an empty list when there is nothing to add',
      check: (source, context) =>
        firstFaultyHeader(
          context,
          source,
          () => undefined,
          (error) => `it throws: ${messageOf(error)}`,
        ),
    },
    {
      code: 'HEADERS_UNDECLARED',
      statement: 'adds only headers that it names',
      advice: 'list every header in `names`, in lower case: the gateway removes these headers of the caller',
      async check(source, context) {
        const mixed = source.names.filter((name) => name !== name.toLowerCase())
        if (mixed.length > 0) return `not in lower case: ${mixed.join(', ')}`
        return firstFaultyHeader(context, source, ([name]) =>
          source.names.includes(String(name)) ? undefined : `not in its names: ${name}`,
        )
      },
    },
    {
      code: 'HEADERS_MALFORMED',
      statement: 'adds headers that can be sent',
      advice:
        'return pairs of a name and a value, without control characters, and no header that frames a message',
      async check(source, context) {
        const bad = source.names.find((name) => !headerName().safeParse(name).success)
        if (bad !== undefined) return `a plugin may not send "${bad}"`
        return firstFaultyHeader(context, source, ([, value]) =>
          typeof value === 'string' && isHeaderValue(value)
            ? undefined
            : 'a value cannot be sent in a header',
        )
      },
    },
    leavesRequestUnchanged((source, request) => source.headers(request)),
  ],
}

async function firstFaultyHeader(
  context: ConformanceContext,
  source: HeaderSource,
  check: (header: readonly unknown[]) => string | undefined,
  thrown: (error: unknown) => string | undefined = () => undefined,
): Promise<CheckResult> {
  let fault: CheckResult
  await context.anonymousRequests((request) => {
    try {
      const answer: unknown = source.headers(request)
      if (!Array.isArray(answer)) fault ??= thrown(new Error('it returns no list'))
      else
        for (const header of answer) fault ??= Array.isArray(header) ? check(header) : 'a header is no pair'
    } catch (error) {
      fault ??= thrown(error)
    }
  })
  return fault
}

/** Milliseconds in which a tunnel has to end after an abort. */
const ABORT_LIMIT = 5_000

// Nothing listens there: a tunnel opens without a request.
const LOCAL = new URL('http://127.0.0.1:9')

export const tunnelConformance: ConformanceSuite<Tunnel> = {
  capability: Tunnel,
  requirements: [
    {
      code: 'TUNNEL_UNNAMED',
      statement: 'has a name and a key',
      advice: 'set `name` for the log, and `key` to a text of all its options, without secrets',
      check: ({ name, key }) => ([name, key].every(isText) ? undefined : 'one of them is empty, or no text'),
    },
    {
      code: 'ABORT_IGNORED',
      statement: 'stops opening when its signal is aborted',
      advice: 'pass the signal to everything that waits, and leave no process or connection',
      awaits: 2,
      async check(tunnel) {
        const controller = new AbortController()
        const opening = (async () => tunnel.open(LOCAL, controller.signal))()
        controller.abort(new Error('the opening was aborted'))
        const late = (): Error => new Error('late')
        const result = opening.then(
          async (open) => {
            await open.close()
            return 'it opened after the abort'
          },
          () => undefined,
        )
        return within(ABORT_LIMIT, result, late).catch(
          () => `${ABORT_LIMIT / 1000} s after the abort it still opens`,
        )
      },
    },
    {
      code: 'TUNNEL_MALFORMED',
      statement: 'opens, reports its loss, and can be closed twice',
      advice: 'return { url, lost, close }: `lost` settles after `close` too, and never rejects',
      awaits: 3,
      check: opened,
    },
  ],
}

async function opened(tunnel: Tunnel, { timeout }: ConformanceContext): Promise<CheckResult> {
  let open: OpenTunnel
  try {
    open = await tunnel.open(LOCAL, AbortSignal.timeout(timeout))
  } catch (error) {
    // A tunnel whose other side cannot be reached from here is not at fault.
    return new Inconclusive(`it did not open: ${messageOf(error)}`)
  }
  const fault = faultOf(open)
  if (fault !== undefined) return fault
  await open.close()
  const late = (): Error => new Error('`lost` does not settle after `close`')
  const reason = await within(timeout, open.lost, late)
  await open.close()
  return typeof reason === 'string' ? undefined : '`lost` resolves without a reason'
}

function faultOf(open: unknown): string | undefined {
  if (!isObject(open)) return 'it opens nothing'
  if (typeof open['url'] !== 'string' || !URL.canParse(open['url'])) return '`url` is no URL'
  if (!(open['lost'] instanceof Promise)) return '`lost` is no promise'
  return typeof open['close'] === 'function' ? undefined : '`close` is no function'
}
