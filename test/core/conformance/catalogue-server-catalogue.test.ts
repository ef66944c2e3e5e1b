import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServerCatalogue, type ServerQuery, type ServerVersion } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults, resultsFor } from '#kit/conformance.js'
import { fileRegistry, server, wrapped } from '../../plugins/registry/registry.js'

const dates = { publishedAt: '2024-01-01T00:00:00Z', updatedAt: '2024-01-01T00:00:00Z' }

contractSuite('registry/catalogue', (t) => {
  const documents = [
    ...['a', 'b', 'c', 'd'].map((name) => server(`x.example/${name}`, '1.0.0')),
    server('x.example/a', '2.0.0'),
    server('x.example/a', '1.5.0'),
    wrapped(server('x.example/gone', '1.0.0'), { status: 'deleted', ...dates }),
  ]
  return { list: fileRegistry(t, documents).list }
})

function version(name: string, number: string, more: Partial<ServerVersion> = {}): ServerVersion {
  const json = Buffer.from(JSON.stringify({ server: { name, version: number }, _meta: {} }))
  const given = { name, version: number, json, tag: `${name}@${number}` }
  return { status: 'active', isLatest: true, ...given, ...more }
}

const held = [
  version('x.example/a', '2.0.0'),
  version('x.example/a', '1.0.0', { isLatest: false }),
  version('x.example/b', '1.0.0'),
  version('x.example/c', '1.0.0', { status: 'deleted' }),
  version('x.example/d', '1.0.0'),
]

/** Whether a version is asked for; its dates are of the past. */
const isMeant = (query: ServerQuery, { name, version: number, isLatest, status }: ServerVersion): boolean =>
  (query.search === undefined || name.includes(query.search.toLowerCase())) &&
  (query.version === undefined || (query.version === 'latest' ? isLatest : number === query.version)) &&
  (query.updatedSince === undefined || query.updatedSince < Date.now()) &&
  (query.includeDeleted || status !== 'deleted')

/** A registry over a list of versions; `more` replaces members of its view. */
function catalogueOf(more: object = {}, versions: readonly ServerVersion[] = held) {
  const view = {
    name: 'default',
    versions: (name: string) => versions.filter((each) => each.name === name),
    async list(query: ServerQuery) {
      const { limit, cursor } = query
      if (cursor !== undefined && !/^after-\d+$/.test(cursor)) return undefined
      const start = cursor === undefined ? 0 : Number(cursor.slice(6))
      const found = versions.filter((each) => isMeant(query, each))
      const page = found.slice(start, start + limit)
      return start + limit < found.length
        ? { versions: page, nextCursor: `after-${start + limit}` }
        : { versions: page }
    },
    ...more,
  }
  return {
    names: ['default'],
    registry: (name: string): unknown => (name === 'default' ? view : undefined),
  }
}

const forgetting = (part: keyof ServerQuery) => {
  const { list } = Object(catalogueOf().registry('default'))
  return catalogueOf({ list: (query: ServerQuery) => list({ ...query, [part]: undefined }) })
}

test('a catalogue over a list of versions passes, and one without a version is inconclusive', async (t) => {
  const states = async (versions: readonly ServerVersion[]) => {
    const results = await resultsFor(t, ServerCatalogue, catalogueOf({}, versions))
    return new Set(results.map(({ state }) => state))
  }
  assert.deepEqual(await states(held), new Set(['passed']))
  assert.deepEqual(await states([]), new Set(['passed', 'inconclusive']))
})

test('a registry that never finishes loading is inconclusive', async (t) => {
  const loading = {
    names: ['default'],
    registry: (name: string) => (name === 'default' ? 'loading' : undefined),
  }
  const results = await resultsFor(t, ServerCatalogue, loading)
  assert.ok(results.every(({ state }) => state !== 'failed'))
  assert.ok(results.some(({ state }) => state === 'inconclusive'))
})

findsFaults(ServerCatalogue, {
  'a named registry that does not exist': {
    code: 'CATALOGUE_NAMES',
    make: () => ({ ...catalogueOf(), names: ['default', 'other'] }),
  },
  'registries in an object': {
    code: 'CATALOGUE_NAMES',
    make: () => {
      const registries = { default: catalogueOf().registry('default') }
      return { names: ['default'], registry: (name: string) => Reflect.get(registries, name) }
    },
  },
  'pages that are too long': {
    code: 'CATALOGUE_PAGES',
    make: () => {
      const { list } = Object(catalogueOf().registry('default'))
      return catalogueOf({
        list: (query: ServerQuery) => list({ ...query, limit: query.limit + 1 }),
      })
    },
  },
  'a last version that is listed twice': {
    code: 'CATALOGUE_PAGES',
    make: () => {
      const { list } = Object(catalogueOf().registry('default'))
      return catalogueOf({
        async list(query: ServerQuery) {
          const page = await list(query)
          const { nextCursor } = Object(page)
          return nextCursor === undefined
            ? page
            : { ...page, nextCursor: nextCursor.replace(/\d+$/, (at: string) => String(Number(at) - 1)) }
        },
      })
    },
  },
  'names in another order': { code: 'CATALOGUE_PAGES', make: () => catalogueOf({}, held.toReversed()) },
  'any text as a cursor': {
    code: 'CURSOR_FOREIGN',
    make: () => {
      const { list } = Object(catalogueOf().registry('default'))
      return catalogueOf({
        list: async (query: ServerQuery) => (await list(query)) ?? { versions: [] },
      })
    },
  },
  'a search that is case-sensitive': {
    code: 'QUERY_IGNORED',
    make: () => {
      const { list } = Object(catalogueOf().registry('default'))
      return catalogueOf({
        list: (query: ServerQuery) =>
          list({ ...query, ...(query.search?.toLowerCase() !== query.search && { search: '\n' }) }),
      })
    },
  },
  'no search at all': { code: 'QUERY_IGNORED', make: () => forgetting('search') },
  'any version': { code: 'QUERY_IGNORED', make: () => forgetting('version') },
  'any date': { code: 'QUERY_IGNORED', make: () => forgetting('updatedSince') },
  'deleted versions': {
    code: 'QUERY_IGNORED',
    make: () => {
      const { list } = Object(catalogueOf().registry('default'))
      return catalogueOf({ list: (query: ServerQuery) => list({ ...query, includeDeleted: true }) })
    },
  },
  'versions of any server': { code: 'VERSIONS_WRONG', make: () => catalogueOf({ versions: () => held }) },
  'versions that are not deleted': {
    code: 'VERSIONS_WRONG',
    make: () =>
      catalogueOf({
        versions: (name: string) => held.filter((each) => each.name === name && each.status !== 'deleted'),
      }),
  },
  'two latest versions': {
    code: 'VERSIONS_WRONG',
    make: () =>
      catalogueOf(
        {},
        held.map((each) => ({ ...each, isLatest: true })),
      ),
  },
  'documents that are texts': {
    code: 'DOCUMENT_MALFORMED',
    make: () =>
      catalogueOf(
        {},
        held.map((each) => ({ ...each, json: Object(String(each.json)) })),
      ),
  },
  'the document alone': {
    code: 'DOCUMENT_MALFORMED',
    make: () =>
      catalogueOf(
        {},
        held.map((each) => ({
          ...each,
          json: Buffer.from(JSON.stringify({ name: each.name, version: each.version })),
        })),
      ),
  },
  'one tag for all documents': {
    code: 'DOCUMENT_MALFORMED',
    make: () =>
      catalogueOf(
        {},
        held.map((each) => ({ ...each, tag: 'same' })),
      ),
  },
})
