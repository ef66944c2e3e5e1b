import { definePlugin, Guard, PublicAddress, Refusal } from 'sallyport'
import { z } from 'zod'
import { loopbackHosts } from './loopback.js'
import { allowLatest } from './public.js'

export default definePlugin({
  name: 'guard/origin',
  api: 1,
  summary: 'Refuses browsers that come from an origin nobody listed. Requests without `Origin` pass.',
  provides: [Guard],
  options: z.strictObject({
    allowed: z.array(z.string()).default([]).describe('origins, compared exactly'),
    loopback: z
      .boolean()
      .default(false)
      .describe('allow `localhost`, `127.0.0.1` and `[::1]` with the port that was opened'),
    public: z.boolean().default(false).describe("allow the public address of the list's tunnel"),
    any: z.boolean().default(false).describe('let every origin pass; this is said in the log'),
  }),

  setup(gateway, options) {
    if (options.any) {
      gateway.log.warn('pages of any origin may send requests here: list the origins that may')
      return
    }
    const allowed = new Set(options.allowed)
    if (options.loopback) {
      gateway.onReady((addresses) => {
        for (const host of loopbackHosts(addresses)) allowed.add(`http://${host}`).add(`https://${host}`)
      })
    }
    const addresses = gateway.use(PublicAddress)
    if (options.public) {
      gateway.onStart(() => {
        for (const address of addresses()) allowLatest(allowed, address, (origin) => origin)
      })
    }
    // Several `Origin` headers arrive joined by a comma, which equals nothing on a list.
    gateway.provide(Guard, ({ headers: { origin } }) => {
      if (origin === undefined || allowed.has(origin)) return
      throw new Refusal(403, 'ORIGIN_FORBIDDEN', 'this origin may not use the gateway')
    })
  },
})
