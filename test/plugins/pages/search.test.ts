import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { RegistryView, ServerVersion } from 'sallyport'
import { runs } from '#kit/runs.js'
import { ServerSearch } from '#plugins/pages/search.js'

interface Described {
  readonly name: string
  readonly title?: string | undefined
  readonly description: string
}

const OFFICIAL = 'io.modelcontextprotocol.registry/official'

function versionOf(server: Described): ServerVersion {
  const json = Buffer.from(JSON.stringify({ server, _meta: { [OFFICIAL]: {} } }))
  return { name: server.name, version: '1.0.0', status: 'active', isLatest: true, json, tag: server.name }
}

function viewOf(servers: readonly Described[]): RegistryView {
  const versions = servers.map(versionOf)
  return {
    name: 'default',
    list({ limit, cursor = '0' }) {
      const next = Number(cursor) + limit
      const more = next < versions.length && { nextCursor: String(next) }
      return { versions: versions.slice(Number(cursor), next), ...more }
    },
    versions: () => [],
  }
}

async function namesFound(servers: readonly Described[], search: string): Promise<readonly string[]> {
  const { versions } = await new ServerSearch().find(viewOf(servers), search, 0, 1_000_000)
  return versions.map(({ name }) => name)
}

const servers: readonly Described[] = [
  { name: 'io.github.acme/mail', description: 'reads letters' },
  { name: 'io.github.acme/tickets', title: 'Help desk', description: 'for customer support' },
  { name: 'io.github.acme/digits', description: 'numbers' },
  { name: 'io.github.acme/git-tools', description: 'branches' },
  { name: 'io.github.other/git', description: 'commits' },
  { name: 'io.github.other/forge', title: 'Git forge', description: 'merges' },
]

test('a search looks for eight different words at most', async () => {
  const found = (search: string) =>
    namesFound([{ name: 'a.example/a', description: 'b c d e f g h' }], search)
  assert.deepEqual(await found('a a a b b c d e f g h absent'), ['a.example/a'])
  assert.deepEqual(await found('a b c d e f g absent'), [])
})

test('a search looks at last parts of names, titles and descriptions, and puts the best first', async () => {
  const found = (search: string) => namesFound(servers, search)
  assert.deepEqual(await found('git'), [
    'io.github.other/git',
    'io.github.acme/git-tools',
    'io.github.other/forge',
    'io.github.acme/digits',
  ])
  assert.deepEqual(await found('SUPPORT'), ['io.github.acme/tickets'])
  assert.deepEqual(await found('git branches'), ['io.github.acme/git-tools'])
  assert.deepEqual(await found('acme/mail'), ['io.github.acme/mail'])
  assert.deepEqual(await found('github'), [])
})

const text = fc.array(fc.constantFrom('git', 'mail', 'a', 'Über', '-', ' ', '<b>', '\\', '.*'), {
  maxLength: 5,
})
const described = fc.record({
  name: text.map((parts) => `io.github.git/x${parts.join('').replaceAll(/[^\w.-]/g, '')}`),
  title: fc.option(
    text.map((parts) => parts.join('')),
    { nil: undefined },
  ),
  description: text.map((parts) => parts.join('')),
})

test('a search finds exactly the servers that have every word, in pages that join to the whole', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(described, { maxLength: 130 }),
      text,
      fc.integer({ min: 1, max: 40 }),
      async (all, parts, limit) => {
        const words = parts.join('').toLowerCase().split(/\s+/).filter(Boolean)
        fc.pre(words.length > 0)
        const expected = all.filter(({ name, title = '', description }) =>
          words.every((word) =>
            [name.slice(name.indexOf('/') + 1), title, description].some((part) =>
              part.toLowerCase().includes(word),
            ),
          ),
        )
        const view = viewOf(all)
        const search = new ServerSearch()
        const found: string[] = []
        for (let from: number | undefined = 0; from !== undefined; ) {
          const page = await search.find(view, parts.join(''), from, limit)
          found.push(...page.versions.map(({ name }) => name))
          from = page.next
        }
        assert.deepEqual(found.toSorted(), expected.map(({ name }) => name).toSorted())
      },
    ),
    { numRuns: runs(200) },
  )
})

test('ten thousand servers are searched in a few milliseconds, and indexed once', async (t) => {
  const many = Array.from({ length: 10_000 }, (_, index) => ({
    name: `io.github.acme/server-${index}`,
    title: `Server ${index}`,
    description: `does what number ${index} is for, with a description that is as long as it may become`,
  }))
  const view = viewOf(many)
  const search = new ServerSearch()
  const began = performance.now()
  await search.find(view, 'server', 0, 30)
  const first = performance.now() - began
  const times: number[] = []
  for (let round = 0; round < 21; round++) {
    const since = performance.now()
    const { versions } = await search.find(view, `number ${round}`, 0, 30)
    times.push(performance.now() - since)
    assert.equal(versions.length, 30)
  }
  const median = times.sort((a, b) => a - b)[10] ?? 0
  t.diagnostic(`index ${first.toFixed(0)} ms, search ${median.toFixed(1)} ms`)
  assert.ok(median * 4 < first, `${median} ms of ${first} ms`)
})

test('other requests go on while many servers are compared with what is searched for', async () => {
  const view = viewOf(
    Array.from({ length: 5_000 }, (_, index) => ({
      name: `a.example/${'a'.repeat(60)}${index}`,
      description: '',
    })),
  )
  const search = new ServerSearch()
  await search.find(view, 'a', 0, 10)

  let turns = 0
  let isOver = false
  const turn = (): void => {
    turns++
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  const { versions } = await search.find(view, 'a', 0, 10)
  isOver = true

  assert.equal(versions.length, 10)
  assert.ok(turns >= 5, `${turns} turns`)
})
