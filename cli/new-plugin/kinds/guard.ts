import type { Kind } from '../kind.js'
import { contract, head } from '../test-parts.js'

export const guard: Kind = {
  source: `import { definePlugin, Guard, Refusal } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'NAME',
  api: 1,
  version: '0.1.0',
  summary: 'Refuses requests whose path is longer than allowed.',
  provides: [Guard],
  options: z.strictObject({
    longest: z.int().positive().default(2048).describe('the most characters that a path may have'),
  }),

  setup(gateway, { longest }) {
    gateway.provide(Guard, ({ url }) => {
      if (url.length <= longest) return
      throw new Refusal(403, 'PATH_TOO_LONG', 'this path is too long')
    })
  },
})
`,

  test: `${head}import { booted, contractSuite } from 'sallyport/testing'

test('a path that is too long is refused, any other is not', async (t) => {
  const app = await booted(t, [{ use: plugin, with: { longest: 10 } }, { use: 'auth/anonymous' }])
  assert.equal((await app.inject('/short')).statusCode, 404)
  assert.equal((await app.inject('/much-too-long')).statusCode, 403)
})
${contract('{ longest: 10 }')}`,
}
