import { StateStore } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'

contractSuite('state/memory', () => ({ list: [{ use: 'state/memory' }] }))

/** A store in memory; `more` replaces its members. */
function storing(more: (held: Map<string, string>) => object) {
  const held = new Map<string, string>()
  let turn: Promise<unknown> = Promise.resolve()
  const locks = new Map<string, Promise<unknown>>()
  return {
    get: async (key: string) => held.get(key),
    set: async (key: string, value: string) => void held.set(key, value),
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
    ...more(held),
  }
}

findsFaults(StateStore, {
  'values without white space at their ends': {
    code: 'STATE_LOST',
    make: () =>
      storing((held) => ({ set: async (key: string, value: string) => void held.set(key, value.trim()) })),
  },
  'keys that end at a control character': {
    code: 'STATE_LOST',
    make: () =>
      storing((held) => ({
        set: async (key: string, value: string) => void held.set(String(key.split('\0')[0]), value),
      })),
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
  'a lock that locks nothing': {
    code: 'LOCK_BROKEN',
    make: () => storing(() => ({ locked: (_key: string, work: () => Promise<unknown>) => work() })),
  },
  'a lock that answers nothing': {
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
