import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { booted } from 'sallyport/testing'
import {
  BASE,
  internalRoutes,
  type ListBody,
  OFFICIAL,
  payload,
  registryOf,
  server,
  sourcePlugin,
  wrapped,
} from './registry.js'

const SOURCES = ['first', 'second', 'third']
const DAY = (day: number): string => `2024-01-${String(day).padStart(2, '0')}T00:00:00Z`

const version = fc.record({
  id: fc.nat(9),
  minor: fc.nat(4),
  edition: fc.nat(3),
  status: fc.constantFrom('active', 'active', 'deprecated', 'deleted'),
  day: fc.integer({ min: 1, max: 28 }),
})
const step = fc.record({
  source: fc.nat(SOURCES.length - 1),
  kind: fc.constantFrom('whole' as const, 'changes' as const),
  versions: fc.array(version, { maxLength: 30 }),
})

type Version = typeof version extends fc.Arbitrary<infer V> ? V : never

const nameOf = ({ id }: Version): string => `a.example/S${id}`
const keyOf = (each: Version): string => `${nameOf(each)}@1.${each.minor}.0`
const documentOf = ({ status, day, ...each }: Version): object =>
  wrapped(server(nameOf({ ...each, status, day }), `1.${each.minor}.0`, { edition: each.edition }), {
    status,
    publishedAt: DAY(1),
    updatedAt: DAY(day),
  })

/** The versions of all sources as a registry has to serve them, made anew of all that was given. */
function expected(held: readonly ReadonlyMap<string, Version>[]) {
  const ids = new Set(held.flatMap((source) => [...source.values()].map(({ id }) => id)))
  return [...ids]
    .toSorted((a, b) => a - b)
    .flatMap((id) => {
      const own = held.map((source) => [...source.values()].filter((each) => each.id === id))
      const versions = (own.find(({ length }) => length > 0) ?? []).toSorted((a, b) => b.minor - a.minor)
      const latest = versions.find(({ status }) => status !== 'deleted') ?? versions[0]
      return versions.map((each) => ({ ...each, isLatest: each === latest }))
    })
}

test('queries over several sources find the same versions as a plain list of all', async (t) => {
  for (const steps of fc.sample(fc.array(step, { minLength: 1, maxLength: 12 }), { numRuns: 12, seed: 11 })) {
    const held = SOURCES.map(() => new Map<string, Version>())
    let next: (typeof steps)[number] | undefined
    const sources = SOURCES.map((name) =>
      sourcePlugin(name, async () => {
        if (next === undefined) return { kind: 'whole', payloads: [payload([])] }
        return { kind: next.kind, payloads: [payload(next.versions.map(documentOf))] }
      }),
    )
    const app = await booted(t, [...registryOf(sources, SOURCES), internalRoutes])
    for (next of steps) {
      const before = held[next.source] ?? new Map<string, Version>()
      const given = next.kind === 'changes' ? next.versions : next.versions.toReversed()
      const merged = new Map(next.kind === 'changes' ? before : [])
      for (const each of given) merged.set(keyOf(each), each)
      held[next.source] = merged
      const url = `/internal/sync/${SOURCES[next.source]}`
      assert.equal((await app.inject({ method: 'POST', url })).statusCode, 200)

      const all = expected(held)
      const since = 14
      const queries: [query: string, wanted: typeof all][] = [
        ['include_deleted=true', all],
        ['', all.filter(({ status }) => status !== 'deleted')],
        ['version=latest&include_deleted=true', all.filter(({ isLatest }) => isLatest)],
        ['version=1.2.0&include_deleted=true', all.filter(({ minor }) => minor === 2)],
        ['search=E/s4&include_deleted=true', all.filter(({ id }) => id === 4)],
        [`updated_since=${DAY(since)}`, all.filter(({ day }) => day >= since)],
      ]
      for (const [query, wanted] of queries) {
        const found: ListBody['servers'][number][] = []
        for (let cursor: string | undefined = ''; cursor !== undefined; ) {
          const page: ListBody = (await app.inject(`${BASE}?limit=17&cursor=${cursor}&${query}`)).json()
          found.push(...page.servers)
          cursor = page.metadata.nextCursor
        }
        const made = wanted.map((each) => {
          const { isLatest, ...document } = each
          const value = documentOf(document) as ListBody['servers'][number]
          return { ...value, _meta: { [OFFICIAL]: { ...value._meta[OFFICIAL], isLatest } } }
        })
        assert.deepEqual(found, made, query)
      }
    }
  }
})
