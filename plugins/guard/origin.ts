import { definePlugin, Guard, Refusal } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'guard/origin',
  api: 1,
  summary: 'Refuses browsers that come from an origin nobody listed. Requests without `Origin` pass.',
  provides: [Guard],
  options: z.strictObject({ allowed: z.array(z.string()).describe('origins, compared exactly') }),

  setup(gateway, options) {
    const allowed = new Set(options.allowed)
    gateway.provide(Guard, ({ headers: { origin } }) => {
      if (origin === undefined || allowed.has(origin)) return
      throw new Refusal(403, 'ORIGIN_FORBIDDEN', 'this origin may not use the gateway')
    })
  },
})
