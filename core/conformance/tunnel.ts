import { type OpenTunnel, Tunnel } from '../contract/capabilities/tunnel.js'
import { within } from '../toolkit/deadline.js'
import {
  type CheckResult,
  type ConformanceContext,
  type ConformanceSuite,
  Inconclusive,
  isObject,
  isText,
  messageOf,
} from './requirement.js'

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
      advice: 'set `name` for the log, and `key` to everything it was set up with, without secrets',
      check: ({ name, key }) => ([name, key].every(isText) ? undefined : 'one of them is empty, or no text'),
    },
    {
      code: 'ABORT_IGNORED',
      statement: 'stops opening when its signal is aborted',
      advice: 'hand the signal to everything that waits, and leave nothing behind',
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
      statement: 'opens, reports its end, and can be closed twice',
      advice: 'answer { url, lost, close }: `lost` settles after `close` too, and never rejects',
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
    // That the other side cannot be reached from here is no fault of it.
    return new Inconclusive(`it did not open: ${messageOf(error)}`)
  }
  const fault = faultOf(open)
  if (fault !== undefined) return fault
  await open.close()
  const late = (): Error => new Error('`lost` does not settle after `close`')
  const reason = await within(timeout, open.lost, late)
  await open.close()
  return typeof reason === 'string' ? undefined : '`lost` gives no reason'
}

function faultOf(open: unknown): string | undefined {
  if (!isObject(open)) return 'it opens nothing'
  if (typeof open['url'] !== 'string' || !URL.canParse(open['url'])) return '`url` is no URL'
  if (!(open['lost'] instanceof Promise)) return '`lost` is no promise'
  return typeof open['close'] === 'function' ? undefined : '`close` is no function'
}
