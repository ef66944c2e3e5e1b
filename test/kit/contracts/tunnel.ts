import { type OpenTunnel, Tunnel, within } from 'sallyport'
import { type Contract, Doubt, isObject, messageOf, type Outcome, type Place } from './contract.js'

/** Milliseconds in which whoever was told to stop has to be done. */
const LAST = 5_000

// Nobody listens there: a way that nobody goes leads nowhere, and is a way all the same.
const LOCAL = new URL('http://127.0.0.1:9')

export const tunnelContract: Contract<Tunnel> = {
  capability: Tunnel,
  clauses: [
    {
      code: 'TUNNEL_UNNAMED',
      asks: 'says its name and its key',
      advice: 'set `name` for the log, and `key` to everything it was set up with, without secrets',
      look: ({ name, key }) =>
        [name, key].every((text) => typeof text === 'string' && text !== '')
          ? undefined
          : 'one of them is empty',
    },
    {
      code: 'ABORT_IGNORED',
      asks: 'stops opening when its signal is aborted',
      advice: 'hand the signal to everything that waits, and leave nothing behind',
      answers: 2,
      async look(tunnel) {
        const ending = new AbortController()
        const opening = (async () => tunnel.open(LOCAL, ending.signal))()
        ending.abort(new Error('told to stop'))
        const late = (): Error => new Error('late')
        const outcome = opening.then(
          async (open) => {
            await open.close()
            return 'it opened after the abort'
          },
          () => undefined,
        )
        return within(LAST, outcome, late).catch(() => `${LAST / 1000} s after the abort it still opens`)
      },
    },
    {
      code: 'TUNNEL_MALFORMED',
      asks: 'opens, tells the end of it, and leaves nothing to close twice',
      advice: 'answer { url, lost, close }: `lost` settles after `close` too, and never rejects',
      answers: 3,
      look: opened,
    },
  ],
}

async function opened(tunnel: Tunnel, { patience }: Place): Promise<Outcome> {
  let open: OpenTunnel
  try {
    open = await tunnel.open(LOCAL, AbortSignal.timeout(patience))
  } catch (error) {
    // That the other side cannot be reached from here is no fault of it.
    return new Doubt(`it did not open: ${messageOf(error)}`)
  }
  const fault = faultOf(open)
  if (fault !== undefined) return fault
  await open.close()
  const late = (): Error => new Error('`lost` does not settle after `close`')
  const reason = await within(LAST, open.lost, late)
  await open.close()
  return typeof reason === 'string' ? undefined : '`lost` gives no reason'
}

function faultOf(open: unknown): string | undefined {
  if (!isObject(open)) return 'it opens nothing'
  if (typeof open['url'] !== 'string' || !URL.canParse(open['url'])) return '`url` is no URL'
  if (!(open['lost'] instanceof Promise)) return '`lost` is no promise'
  return typeof open['close'] === 'function' ? undefined : '`close` is no function'
}
