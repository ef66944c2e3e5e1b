import { type Addresses, ConfigError, definePlugin, duration, Health, PublicAddress, Tunnel } from 'sallyport'
import { z } from 'zod'
import { Way } from './keeper/way.js'

// Below what a step of the start may take, so that the failure is told by its own words.
const LONGEST = 28_000

export default definePlugin({
  name: 'tunnel/keeper',
  api: 1,
  summary:
    'Keeps the tunnel of the list open: it opens when the main port is, and again with longer and longer pauses when it is lost.',
  oneProcess: 'each process would open a tunnel of its own',
  provides: [PublicAddress, Health],
  requires: [Tunnel],
  options: z.strictObject({
    timeout: duration(LONGEST).default(20_000).describe('how long it may take until the public URL is known'),
  }),

  setup(gateway, { timeout }) {
    const { log } = gateway
    const tunnel = gateway.use(Tunnel)
    const watchers: ((origin: string) => void)[] = []
    let way: Way | undefined
    gateway.provide(PublicAddress, {
      get origin() {
        return way?.origin
      },
      watch: (tell) => void watchers.push(tell),
    })
    gateway.provide(Health, {
      name: 'tunnel',
      check: () => way?.check() ?? { status: 'down', reason: 'the tunnel is not open yet' },
    })
    gateway.onReady(async (addresses) => {
      const local = localUrl(addresses)
      const open = (): Way => new Way({ tunnel: tunnel(), local, timeout, log })
      way = gateway.keep(`${tunnel().key} ${local.href}`, open, (kept) => kept.close())
      await way.begun
      const leave = watchers.map((tell) => way?.watch(tell))
      gateway.onStop(() => {
        for (const each of leave) each?.()
      })
    })
  },
})

/** Where the tunnel leads to: an address that means "all of this machine" is none to connect to. */
function localUrl({ main }: Addresses): URL {
  if (main === undefined) {
    throw new ConfigError([{ place: 'listen/http', message: 'missing: a tunnel leads to the main port' }])
  }
  const url = new URL(main)
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  if (url.hostname === '[::]') url.hostname = '[::1]'
  return url
}
