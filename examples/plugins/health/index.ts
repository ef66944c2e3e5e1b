import { definePlugin, Health } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'my-health',
  api: 1,
  version: '0.1.0',
  summary: 'Reports in `/readiness` when the process uses too much memory.',
  provides: [Health],
  options: z.strictObject({
    mebibytes: z.number().positive().default(1024).describe('the most memory that the process may use'),
  }),

  setup(gateway, { mebibytes }) {
    gateway.provide(Health, {
      name: 'my-health',
      // A check returns at once: request slow values beforehand, in a timer.
      check() {
        const used = process.memoryUsage.rss() / 1024 / 1024
        if (used <= mebibytes) return { status: 'ok' }
        // `degraded` only shows; `down` takes the process out of the load balancer.
        return { status: 'degraded', reason: `${Math.round(used)} MiB of memory` }
      },
    })
  },
})
