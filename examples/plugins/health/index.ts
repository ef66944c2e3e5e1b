import { definePlugin, Health } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'my-health',
  api: 1,
  version: '0.1.0',
  summary: 'Reports in `/readiness` when the process uses too much memory.',
  provides: [Health],
  options: z.strictObject({
    mebibytes: z.number().positive().default(1024).describe('the most memory, in MiB'),
  }),

  setup(gateway, { mebibytes }) {
    gateway.provide(Health, {
      name: 'my-health',
      // It returns at once: a timer makes slow checks beforehand.
      check() {
        const used = process.memoryUsage.rss() / 1024 / 1024
        if (used <= mebibytes) return { status: 'ok' }
        // With `degraded` the process serves on; with `down` a load balancer sends it no requests.
        return { status: 'degraded', reason: `${Math.round(used)} MiB of memory` }
      },
    })
  },
})
