import { CatalogueStore, type SourceStore } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'
import { SharedStore } from '#kit/shared-store.js'

contractSuite('a store that processes share', () => ({ list: [{ use: new SharedStore().plugin() }] }))

type SourceName = { readonly name: string; readonly location: string }

/** A store in memory, of which `more` replaces members. */
function storing(
  more: (store: SourceStore) => object,
  key = ({ name, location }: SourceName) => JSON.stringify([name, location]),
) {
  const shared = new SharedStore()
  return {
    open(source: SourceName) {
      const store = shared.open({ name: key(source), location: '' }, new Map())
      return { ...store, ...more(store) }
    },
  }
}

const sharing = (more: (store: SourceStore) => object) =>
  storing((store) => ({ shared: { ...store.shared, ...more(store) } }))

findsFaults(CatalogueStore, {
  'a store that parses and writes JSON': {
    code: 'CONTENTS_LOST',
    make: () =>
      storing((store) => ({
        read: async (...parameters: Parameters<SourceStore['read']>) => {
          const stored = await store.read(...parameters)
          if (stored === undefined || parameters[0] !== undefined) return stored
          const payloads: Buffer[] = []
          for await (const payload of stored.payloads)
            payloads.push(Buffer.from(JSON.stringify(JSON.parse(Buffer.from(payload).toString()))))
          return { ...stored, payloads }
        },
      })),
  },
  'a store that stores part of a change': {
    code: 'WRITE_HALF_DONE',
    make: () =>
      storing((store) => ({
        write: (...parameters: Parameters<SourceStore['write']>) => store.write(...parameters).catch(() => 1),
      })),
  },
  'a store that ignores the location': {
    code: 'SOURCES_MIXED',
    make: () =>
      storing(
        () => ({}),
        ({ name }) => name,
      ),
  },
  'a store that forgets removed versions': {
    code: 'CHANGES_LOST',
    make: () =>
      storing((store) => ({
        read: async (...parameters: Parameters<SourceStore['read']>) => {
          const stored = await store.read(...parameters)
          return stored && { ...stored, removed: [] }
        },
      })),
  },
  'a store that notifies no watch of a write': {
    code: 'LEADERS_WRONG',
    make: () => sharing(() => ({ watch: () => () => {} })),
  },
  'a store that has many leaders': {
    code: 'LEADERS_WRONG',
    make: () =>
      sharing((store) => ({
        lead(work: (signal: AbortSignal) => void) {
          work(new AbortController().signal)
          return store.shared?.lead(() => {}) ?? (async () => {})
        },
      })),
  },
})
