import { definePlugin, StateStore } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'my-state-store',
  api: 1,
  version: '0.1.0',
  summary: 'Keeps logins and registered clients in memory; replace it by your database.',
  // Without this line it may run in several processes: then its locks have to work between them.
  oneProcess: 'what it keeps is in the memory of one process',
  provides: [StateStore],
  options: z.strictObject({}),

  setup(gateway) {
    const values = new Map<string, { readonly value: string; readonly expiresAt: number }>()
    const read = (key: string): string | undefined => {
      const found = values.get(key)
      if (found === undefined || found.expiresAt > Date.now()) return found?.value
      values.delete(key)
      return undefined
    }
    const queues = new Map<string, Promise<unknown>>()
    // A database is opened in `gateway.onStart` and closed in `gateway.onStop`.
    gateway.provide(StateStore, {
      get: async (key) => read(key),
      set: async (key, value, { expiresAt = Number.POSITIVE_INFINITY } = {}) =>
        void values.set(key, { value, expiresAt }),
      // In a database, one statement reads and deletes: only one of several processes may get the value.
      take: async (key) => {
        const value = read(key)
        values.delete(key)
        return value
      },
      delete: async (key) => void values.delete(key),
      // A prefix is text, not a pattern.
      keys: async (prefix) =>
        [...values.keys()].filter((key) => key.startsWith(prefix) && read(key) !== undefined),
      async locked(key, work) {
        const result = (queues.get(key) ?? Promise.resolve()).then(work)
        // Releases the lock also after an error.
        const settled = result.catch(() => {})
        queues.set(key, settled)
        try {
          return await result
        } finally {
          if (queues.get(key) === settled) queues.delete(key)
        }
      },
    })
  },
})
