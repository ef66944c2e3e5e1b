import { type Addresses, ConfigError, definePlugin, Health, PublicAddress, Tunnel } from 'sallyport'
import { duration } from 'sallyport/toolkit'
import { z } from 'zod'
import { ReconnectingTunnel } from './connection/reconnecting.js'

// Shorter than the kernel's limit for a step of the start, so that the operator sees the tunnel's own error.
const MAX_TIMEOUT = 28_000

export default definePlugin({
  name: 'tunnel/connection',
  api: 1,
  summary:
    'Keeps the tunnel of the list open: opens it once the main port is open, and again, with longer and longer pauses, when it is lost.',
  oneProcess: 'each process would open a tunnel of its own',
  provides: [PublicAddress, Health],
  requires: [Tunnel],
  options: z.strictObject({
    timeout: duration(MAX_TIMEOUT)
      .prefault('20s')
      .describe('how long the tunnel may take to show its public URL'),
  }),

  setup(gateway, { timeout }) {
    const { log } = gateway
    const tunnel = gateway.use(Tunnel)
    const watchers: ((origin: string) => void)[] = []
    const unwatch: (() => void)[] = []
    let connection: ReconnectingTunnel | undefined
    let opened: ReconnectingTunnel | undefined
    gateway.provide(PublicAddress, {
      get origin() {
        return connection?.origin
      },
      watch(listener) {
        if (opened === undefined) watchers.push(listener)
        else unwatch.push(opened.watch(listener))
      },
    })
    gateway.provide(Health, {
      name: 'tunnel',
      check: () => connection?.check() ?? { status: 'down', reason: 'the tunnel is not open yet' },
    })
    gateway.onReady(async (addresses) => {
      const local = localUrl(addresses)
      const open = (): ReconnectingTunnel => new ReconnectingTunnel({ tunnel: tunnel(), local, timeout, log })
      connection = gateway.share(`${tunnel().key} ${local.href}`, open, (kept) => kept.close())
      await connection.firstOpened
      opened = connection
      for (const listener of watchers) unwatch.push(opened.watch(listener))
      gateway.onStop(() => {
        for (const stop of unwatch) stop()
      })
    })
  },
})

/** The address that the tunnel connects to: a wildcard address becomes loopback. */
function localUrl({ main }: Addresses): URL {
  if (main === undefined) {
    throw new ConfigError([{ place: 'listen/http', message: 'missing: a tunnel leads to the main port' }])
  }
  const url = new URL(main)
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  if (url.hostname === '[::]') url.hostname = '[::1]'
  return url
}
