import { definePlugin, StateStore } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'my-state-store',
  api: 1,
  version: '0.1.0',
  summary: 'Keeps logins and registered clients in memory, until a database of yours takes its place.',
  // Without this line it may run in several processes: its locks then have to hold between them.
  oneProcess: 'what it keeps is in the memory of one process',
  provides: [StateStore],
  options: z.strictObject({}),

  setup(gateway) {
    const values = new Map<string, string>()
    const turns = new Map<string, Promise<unknown>>()
    // A database is opened in `gateway.onStart` and closed in `gateway.onStop`.
    gateway.provide(StateStore, {
      get: async (key) => values.get(key),
      set: async (key, value) => void values.set(key, value),
      delete: async (key) => void values.delete(key),
      // A prefix is text, not a pattern.
      keys: async (prefix) => [...values.keys()].filter((key) => key.startsWith(prefix)),
      async locked(key, work) {
        const turn = (turns.get(key) ?? Promise.resolve()).then(work)
        // Whatever happened inside, the next one may enter.
        const over = turn.catch(() => {})
        turns.set(key, over)
        try {
          return await turn
        } finally {
          if (turns.get(key) === over) turns.delete(key)
        }
      },
    })
  },
})
