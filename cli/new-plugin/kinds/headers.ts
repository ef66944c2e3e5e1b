import type { Kind } from '../kind.js'
import { contract, head } from '../test-parts.js'

export const headers: Kind = {
  source: `import { definePlugin, HeaderSource } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'NAME',
  api: 1,
  version: '0.1.0',
  summary: 'Tells the target which gateway a request came through.',
  provides: [HeaderSource],
  options: z.strictObject({
    gateway: z.string().min(1).default('gateway').describe('the name of this gateway'),
  }),

  setup(gateway, { gateway: own }) {
    const headers = [['x-gateway', own]] as const
    gateway.provide(HeaderSource, { names: ['x-gateway'], headers: () => headers })
  },
})
`,

  test: `${head}import { HeaderSource } from 'sallyport'
import { booted, contractSuite } from 'sallyport/testing'

test('the header is added', async (t) => {
  let added: unknown
  const looking = {
    name: 'looking',
    api: 1,
    setup(gateway: import('sallyport').Gateway) {
      const sources = gateway.use(HeaderSource)
      gateway.http.get('/', async (request) => {
        added = sources().flatMap((source) => source.headers(request))
      })
    },
  }
  const app = await booted(t, [{ use: 'auth/anonymous' }, { use: plugin, with: { gateway: 'mine' } }, { use: looking }])
  await app.inject('/')
  assert.deepEqual(added, [['x-gateway', 'mine']])
})
${contract("{ gateway: 'mine' }")}`,
}
