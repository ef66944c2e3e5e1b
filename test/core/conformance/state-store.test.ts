import { StateStore } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'

contractSuite('state/memory', () => ({ list: [{ use: 'state/memory' }] }))

/** A store in memory; `more` replaces its members. */
function storing(more: (held: Map<string, string>, set: StateStore['set']) => object) {
  const held = new Map<string, string>()
  const expiry = new Map<string, number>()
  const forget = (key: string) => {
    if ((expiry.get(key) ?? Number.POSITIVE_INFINITY) <= Date.now()) held.delete(key)
  }
  const set: StateStore['set'] = async (key, value, { expiresAt = Number.POSITIVE_INFINITY } = {}) => {
    held.set(key, value)
    expiry.set(key, expiresAt)
  }
  let turn: Promise<unknown> = Promise.resolve()
  const locks = new Map<string, Promise<unknown>>()
  return {
    async get(key: string) {
      forget(key)
      return held.get(key)
    },
    set,
    async take(key: string) {
      forget(key)
      const value = held.get(key)
      held.delete(key)
      return value
    },
    delete: async (key: string) => void held.delete(key),
    keys: async (prefix: string) => [...held.keys()].filter((key) => key.startsWith(prefix)),
    locked(key: string, work: () => Promise<unknown>) {
      turn = (locks.get(key) ?? Promise.resolve()).then(work)
      locks.set(
        key,
        turn.catch(() => {}),
      )
      return turn
    },
    ...more(held, set),
  }
}

findsFaults(StateStore, {
  'values without white space at their ends': {
    code: 'STATE_LOST',
    make: () =>
      storing(
        (_held, set): Partial<StateStore> => ({ set: (key, value, more) => set(key, value.trim(), more) }),
      ),
  },
  'keys that end at a control character': {
    code: 'STATE_LOST',
    make: () =>
      storing(
        (_held, set): Partial<StateStore> => ({
          set: (key, value, more) => set(String(key.split('\0')[0]), value, more),
        }),
      ),
  },
  'a prefix that is a regular expression': {
    code: 'STATE_KEYS',
    make: () =>
      storing((held) => ({
        keys: async (prefix: string) => [...held.keys()].filter((key) => new RegExp(`^${prefix}`).test(key)),
      })),
  },
  'a prefix that is a pattern of SQL': {
    code: 'STATE_KEYS',
    make: () =>
      storing((held) => ({
        async keys(prefix: string) {
          const pattern = prefix.replaceAll('*', '[*]').replaceAll('_', '.').replaceAll('%', '.*')
          return [...held.keys()].filter((key) => new RegExp(`^${pattern}`).test(key))
        },
      })),
  },
  'values that never expire': {
    code: 'STATE_EXPIRED',
    make: () => storing((held) => ({ set: async (key: string, value: string) => void held.set(key, value) })),
  },
  'values that keep the expiry of the values that they replaced': {
    code: 'STATE_EXPIRED',
    make: () =>
      storing((_held, set) => {
        const first = new Map<string, number | undefined>()
        return {
          set(key: string, value: string, { expiresAt }: { expiresAt?: number } = {}) {
            const kept = expiresAt ?? first.get(key)
            first.set(key, kept)
            return set(key, value, { expiresAt: kept })
          },
        }
      }),
  },
  'a value that is read, and deleted later': {
    code: 'STATE_TAKEN_TWICE',
    make: () =>
      storing((held) => ({
        async take(key: string) {
          const value = held.get(key)
          await Promise.resolve()
          held.delete(key)
          return value
        },
      })),
  },
  'a lock that locks nothing': {
    code: 'LOCK_BROKEN',
    make: () => storing(() => ({ locked: (_key: string, work: () => Promise<unknown>) => work() })),
  },
  'a lock that drops the result of the work': {
    code: 'LOCK_BROKEN',
    make: () =>
      storing(() => {
        let turn: Promise<unknown> = Promise.resolve()
        return {
          locked(_key: string, work: () => Promise<unknown>) {
            turn = turn.then(work).then(
              () => {},
              () => {},
            )
            return turn
          },
        }
      }),
  },
})
