import { definePlugin, StateStore } from 'sallyport'
import { z } from 'zod'
import { Turns } from '#plugins/store/turns.js'

export default definePlugin({
  name: 'state/memory',
  api: 1,
  summary: 'Stores tokens and registered clients in memory only: after a restart they are gone.',
  oneProcess: 'its values are in the memory of one process',
  provides: [StateStore],
  options: z.strictObject({}),

  setup(gateway) {
    // A reload would have a person sign in again.
    const { values, turns } = gateway.share(gateway.id, () => ({
      values: new Map<string, string>(),
      turns: new Turns(),
    }))
    gateway.provide(StateStore, {
      get: async (key) => values.get(key),
      set: async (key, value) => void values.set(key, value),
      delete: async (key) => void values.delete(key),
      keys: async (prefix) => [...values.keys()].filter((key) => key.startsWith(prefix)).sort(),
      locked: (key, work) => turns.run(key, work),
    })
  },
})
