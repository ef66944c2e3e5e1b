import { definePlugin, StateStore } from 'sallyport'
import { z } from 'zod'
import { KeyedMutex } from '#plugins/store/keyed-mutex.js'

interface Held {
  readonly value: string
  readonly expiresAt: number
}

export default definePlugin({
  name: 'state/memory',
  api: 1,
  summary: 'Stores tokens and registered clients in memory only: after a restart they are gone.',
  oneProcess: 'its values are in the memory of one process',
  provides: [StateStore],
  options: z.strictObject({}),

  setup(gateway) {
    // Shared over a reload, which would otherwise make people sign in again.
    const { values, mutex } = gateway.share(gateway.id, () => ({
      values: new MemoryValues(),
      mutex: new KeyedMutex(),
    }))
    gateway.provide(StateStore, {
      get: async (key) => values.get(key),
      set: async (key, value, { expiresAt = Number.POSITIVE_INFINITY } = {}) =>
        values.set(key, { value, expiresAt }),
      take: async (key) => values.take(key),
      delete: async (key) => void values.take(key),
      keys: async (prefix) => values.keys(prefix),
      locked: (key, work) => mutex.run(key, work),
    })
  },
})

// Each added value checks two others, so that expired values go after as many additions as there are values.
const SWEPT = 2

/** Values that expire; each write checks a few others, so that unread expired values go too. */
class MemoryValues {
  private readonly values = new Map<string, Held>()
  private sweep = this.values.entries()

  get(key: string): string | undefined {
    const held = this.values.get(key)
    if (held === undefined || held.expiresAt > Date.now()) return held?.value
    this.values.delete(key)
    return undefined
  }

  set(key: string, held: Held): void {
    this.values.set(key, held)
    for (let looked = 0; looked < SWEPT; looked++) {
      const { done, value } = this.sweep.next()
      if (done === true) this.sweep = this.values.entries()
      else this.get(value[0])
    }
  }

  take(key: string): string | undefined {
    const value = this.get(key)
    this.values.delete(key)
    return value
  }

  keys(prefix: string): readonly string[] {
    return [...this.values.keys()]
      .filter((key) => key.startsWith(prefix) && this.get(key) !== undefined)
      .sort()
  }
}
