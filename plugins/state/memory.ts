import { definePlugin, StateStore } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'state/memory',
  api: 1,
  summary: 'Stores tokens and registered clients in memory only: after a restart they are gone.',
  oneProcess: 'its values are in the memory of one process',
  provides: [StateStore],
  options: z.strictObject({}),

  setup(gateway) {
    // A reload would have a person sign in again.
    const { values, queues } = gateway.share(
      gateway.id,
      () => ({ values: new Map<string, string>(), queues: new Map<string, Promise<unknown>>() }),
      () => {},
    )
    gateway.provide(StateStore, {
      get: async (key) => values.get(key),
      set: async (key, value) => void values.set(key, value),
      delete: async (key) => void values.delete(key),
      keys: async (prefix) => [...values.keys()].filter((key) => key.startsWith(prefix)).sort(),
      locked<T>(key: string, work: () => Promise<T>): Promise<T> {
        const task = (queues.get(key) ?? Promise.resolve()).then(work)
        queues.set(
          key,
          task.catch(() => {}),
        )
        return task
      },
    })
  },
})
