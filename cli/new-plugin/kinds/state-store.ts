import type { Kind } from '../kind.js'
import { contract, head } from '../test-parts.js'

export const stateStore: Kind = {
  source: `import { definePlugin, StateStore } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'NAME',
  api: 1,
  version: '0.1.0',
  summary: 'Keeps logins and registered clients in memory, until a database of yours takes its place.',
  // Without this line it may run in several processes: its locks then have to hold between them.
  oneProcess: 'what it keeps is in the memory of one process',
  provides: [StateStore],
  options: z.strictObject({}),

  setup(gateway) {
    const values = new Map<string, string>()
    const locks = new Map<string, Promise<unknown>>()
    // A database is opened in \`gateway.onStart\` and closed in \`gateway.onStop\`.
    gateway.provide(StateStore, {
      get: async (key) => values.get(key),
      set: async (key, value) => void values.set(key, value),
      delete: async (key) => void values.delete(key),
      // A prefix is text, not a pattern.
      keys: async (prefix) => [...values.keys()].filter((key) => key.startsWith(prefix)),
      locked(key, work) {
        const turn = (locks.get(key) ?? Promise.resolve()).then(work)
        // Whatever happened inside, the next one may enter.
        locks.set(key, turn.catch(() => {}))
        return turn
      },
    })
  },
})
`,

  test: `${head}import { StateStore } from 'sallyport'
import { booted, contractSuite } from 'sallyport/testing'

test('what a plugin of the list keeps is there for the next', async (t) => {
  let found: string | undefined
  const keeping = {
    name: 'keeping',
    api: 1,
    requires: [StateStore],
    setup(gateway: import('sallyport').Gateway) {
      const store = gateway.use(StateStore)
      gateway.onStart(async () => {
        await store().set('login/one', 'a token')
        found = await store().get('login/one')
      })
    },
  }
  await booted(t, [{ use: plugin }, { use: keeping }])
  assert.equal(found, 'a token')
})
${contract('{}')}`,
}
