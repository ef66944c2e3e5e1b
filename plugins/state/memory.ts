import { definePlugin, StateStore } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'state/memory',
  api: 1,
  summary: 'Keeps tokens and registered clients in memory only: after a restart they are gone.',
  oneProcess: 'what it keeps is in the memory of one process',
  provides: [StateStore],
  options: z.strictObject({}),

  setup(gateway) {
    const values = new Map<string, string>()
    const turns = new Map<string, Promise<unknown>>()
    gateway.provide(StateStore, {
      get: async (key) => values.get(key),
      set: async (key, value) => void values.set(key, value),
      delete: async (key) => void values.delete(key),
      keys: async (prefix) => [...values.keys()].filter((key) => key.startsWith(prefix)).sort(),
      locked<T>(key: string, work: () => Promise<T>): Promise<T> {
        const turn = (turns.get(key) ?? Promise.resolve()).then(work)
        turns.set(
          key,
          turn.catch(() => {}),
        )
        return turn
      },
    })
  },
})
