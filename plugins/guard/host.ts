import { definePlugin, Guard, PublicAddress, Refusal, timesSent } from 'sallyport'
import { z } from 'zod'
import { loopbackHosts } from './loopback.js'
import { allowLatest } from './public.js'

export default definePlugin({
  name: 'guard/host',
  api: 1,
  summary:
    'Refuses requests that were meant for another host, as a page does that rebinds its own name to this machine.',
  provides: [Guard],
  options: z.strictObject({
    allowed: z.array(z.string()).default([]).describe('values of `Host`, compared exactly but for case'),
    loopback: z
      .boolean()
      .default(false)
      .describe('allow `localhost`, `127.0.0.1` and `[::1]` with the port that was opened'),
    public: z.boolean().default(false).describe("allow the public address of the list's tunnel"),
  }),

  setup(gateway, options) {
    const allowed = new Set(options.allowed.map((host) => host.toLowerCase()))
    if (options.loopback) {
      gateway.onReady((addresses) => {
        for (const host of loopbackHosts(addresses)) allowed.add(host)
      })
    }
    const addresses = gateway.use(PublicAddress)
    if (options.public) {
      gateway.onStart(() => {
        for (const address of addresses()) allowLatest(allowed, address, (origin) => new URL(origin).host)
      })
    }
    gateway.provide(Guard, ({ raw, originalUrl }) => {
      const host = raw.headers.host?.toLowerCase()
      const meant = authorityOf(originalUrl)
      if (
        host !== undefined &&
        allowed.has(host) &&
        (meant === undefined || allowed.has(meant)) &&
        // Of several, whoever reads the last would read another.
        timesSent(raw.rawHeaders, 'host') === 1
      ) {
        return
      }
      throw new Refusal(403, 'HOST_FORBIDDEN', 'this gateway is not known by that host')
    })
  },
})

/** The host that an absolute request target names beside the header. */
function authorityOf(target: string): string | undefined {
  if (target.startsWith('/')) return undefined
  return /^https?:\/\/([^/?#]*)/i.exec(target)?.[1]?.toLowerCase()
}
