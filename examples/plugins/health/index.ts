import { definePlugin, Health } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'my-health',
  api: 1,
  version: '0.1.0',
  summary: 'Says in `/readiness` when the process holds more memory than it should.',
  provides: [Health],
  options: z.strictObject({
    mebibytes: z.number().positive().default(1024).describe('how much memory is in order'),
  }),

  setup(gateway, { mebibytes }) {
    gateway.provide(Health, {
      name: 'my-health',
      // At once, from what is known here: whatever has to be asked is asked beforehand, by a timer.
      check() {
        const used = process.memoryUsage.rss() / 1024 / 1024
        if (used <= mebibytes) return { status: 'ok' }
        // `degraded` is shown and serves on; `down` takes the process out of the load balancer.
        return { status: 'degraded', reason: `${Math.round(used)} MiB of memory` }
      },
    })
  },
})
