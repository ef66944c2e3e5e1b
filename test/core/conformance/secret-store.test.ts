import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SecretStore } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'
import { folder } from '#kit/folder.js'
import { providing } from '#kit/plugin.js'

contractSuite('secrets/directory', (t) => {
  const home = folder(t)
  writeFileSync(join(home, 'key'), 'the value\n', { mode: 0o600 })
  return {
    list: [{ use: 'secrets/directory', with: { path: home } }],
    fixtures: { secret: { name: 'key', value: 'the value' } },
  }
})

type Watcher = (value: string) => void

/** A store in memory that can be written and watched; `more` replaces its members. */
function storing(
  more: (held: Map<string, string>, watchers: Map<string, Set<Watcher>>) => object = () => ({}),
) {
  const held = new Map<string, string>()
  const watchers = new Map<string, Set<Watcher>>()
  return {
    name: 's',
    get: (name: string) => held.get(name),
    watch(name: string, changed: Watcher) {
      const all = watchers.get(name) ?? new Set()
      watchers.set(name, all.add(changed))
      return () => void all.delete(changed)
    },
    keeping: {
      async set(name: string, value: string) {
        held.set(name, value)
        for (const changed of watchers.get(name) ?? []) changed(value)
      },
      delete: async (name: string) => held.delete(name),
      names: async () => [...held.keys()],
    },
    ...more(held, watchers),
  }
}

class OneStore {
  readonly name = 's'
  private readonly held = new Map([['key', 'value']])
  readonly keeping = {
    set: async (name: string, value: string) => void this.held.set(name, value),
    delete: async (name: string) => this.held.delete(name),
    names: async () => [...this.held.keys()],
  }
  get(name: string) {
    return this.held.get(name)
  }
}

contractSuite('a store that is an object of a class', () => ({
  list: [providing('one-store', SecretStore, new OneStore())],
}))

findsFaults(SecretStore, {
  'a store without a name': { code: 'SECRET_STORE_UNNAMED', make: () => storing(() => ({ name: '' })) },
  'a store over an object': {
    code: 'SECRET_INVENTED',
    make: () => ({ name: 's', get: (name: string) => Reflect.get({}, name) }),
  },
  'a store that has an empty text for any name': {
    code: 'SECRET_INVENTED',
    make: () => ({ name: 's', get: () => '' }),
  },
  'a store that cannot read unusual names': {
    code: 'SECRET_INVENTED',
    make: () => ({
      name: 's',
      get: async (name: string) => void encodeURI(name === 'a\0b' ? '\ud800' : name),
    }),
  },
  'a secret with a newline at its end': {
    code: 'SECRET_MISSING',
    make: () => ({ name: 's', get: (name: string) => (name === 'key' ? 'value\n' : undefined) }),
    fixtures: { secret: { name: 'key', value: 'value' } },
  },
  'a deletion that returns nothing': {
    code: 'KEEPING_BROKEN',
    make: () =>
      storing((held) => ({
        watch: undefined,
        keeping: {
          set: async (name: string, value: string) => void held.set(name, value),
          delete: async (name: string) => void held.delete(name),
          names: async () => [...held.keys()],
        },
      })),
  },
  'a watch that cannot be ended': {
    code: 'SECRET_WATCH_BROKEN',
    make: () => storing(() => ({ watch: () => undefined })),
  },
  'a watch that is never called': {
    code: 'SECRET_WATCH_BROKEN',
    make: () => storing(() => ({ watch: () => () => {} })),
  },
  'a watch that goes on after its end': {
    code: 'SECRET_WATCH_BROKEN',
    make: () =>
      storing((_held, watchers) => ({
        watch(name: string, changed: Watcher) {
          watchers.set(name, (watchers.get(name) ?? new Set()).add(changed))
          return () => {}
        },
      })),
  },
})
