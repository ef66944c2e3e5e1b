import type { Kind } from '../kind.js'
import { contract, head } from '../test-parts.js'

export const health: Kind = {
  source: `import { definePlugin, Health } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'NAME',
  api: 1,
  version: '0.1.0',
  summary: 'Says in \`/readiness\` when the process holds more memory than it should.',
  provides: [Health],
  options: z.strictObject({
    mebibytes: z.number().positive().default(1024).describe('how much memory is in order'),
  }),

  setup(gateway, { mebibytes }) {
    gateway.provide(Health, {
      name: 'NAME',
      // At once, from what is known here: whatever has to be asked is asked beforehand, by a timer.
      check() {
        const held = process.memoryUsage.rss() / 1024 / 1024
        if (held <= mebibytes) return { status: 'ok' }
        // \`degraded\` is shown and serves on; \`down\` takes the process out of the load balancer.
        return { status: 'degraded', reason: \`\${Math.round(held)} MiB of memory\` }
      },
    })
  },
})
`,

  test: `${head}import { contractSuite, serving } from 'sallyport/testing'

test('too much memory is shown, and the gateway serves on', async (t) => {
  const { addresses } = await serving(t, [
    { use: 'internal/server', with: { address: '127.0.0.1:0' } },
    { use: plugin, with: { mebibytes: 1 } },
  ])
  const answer = await fetch(\`\${addresses.internal}/readiness\`)
  assert.equal(answer.status, 200)
  assert.match(await answer.text(), /MiB of memory/)
})
${contract('{}')}`,
}
