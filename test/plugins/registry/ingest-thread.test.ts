import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import type { FetchResult } from 'sallyport'
import { booted, serving } from 'sallyport/testing'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import {
  BASE,
  internalRoutes,
  type ListBody,
  payload,
  registryOf,
  server,
  sourcePlugin,
  sync,
  wrapped,
} from './registry.js'

/** Enough documents for a thread. */
const many = (version: string, count = 1_200): object[] =>
  Array.from({ length: count }, (_, index) => {
    const document = server(`a.example/s${String(index).padStart(4, '0')}`, version, { x: 'x'.repeat(1_000) })
    return index % 3 === 0 ? wrapped(document, { status: 'deprecated' }, { 'a.example/w': [1, 2] }) : document
  })

const NAME = 'registry sync'

/** Threads of syncs from now on; other threads, such as the test runner's, are left out where Node has their names. */
function threads(t: TestContext): Worker[] {
  const started: Worker[] = []
  const note = (worker: Worker & { readonly threadName?: string | null }): void => {
    if ((worker.threadName ?? NAME) === NAME) started.push(worker)
  }
  process.on('worker', note)
  t.after(() => process.off('worker', note))
  return started
}

async function allEntries(app: { inject(url: string): Promise<{ json(): ListBody }> }) {
  const found: ListBody['servers'][number][] = []
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const page: ListBody = (await app.inject(`${BASE}?limit=100&cursor=${cursor}`)).json()
    found.push(...page.servers)
    cursor = page.metadata.nextCursor
  }
  return found
}

const documentsOf = (documents: readonly object[]): unknown[] =>
  documents.map((document) => ('server' in document ? document.server : document))

function sourceOf(answers: readonly (() => FetchResult | Promise<FetchResult>)[]) {
  const left = [...answers]
  return sourcePlugin(
    'main',
    async () => (left.length > 1 ? left.shift() : left[0])?.() ?? { kind: 'unchanged' },
  )
}

test('one thread parses small sources, a large one ends its thread, and after a stop there is none', async (t) => {
  const started = threads(t)
  const first = many('1.0.0')
  const broken = { ...server('a.example/broken', '1.0.0'), description: 1 }
  const newer = server('a.example/s0001', '2.0.0')
  const source = sourceOf([
    () => whole([newer]),
    () => whole([newer, newer]),
    () => ({ kind: 'whole', payloads: first.map(payload) }),
    () => ({ kind: 'changes', payloads: [payload([newer, broken])] }),
    () => ({ kind: 'whole', payloads: [payload([...first.toReversed(), newer, broken])], handedOver: true }),
  ])
  const app = await booted(t, [...registryOf([source], ['main']), internalRoutes])
  await app.inject(sync)
  const [small] = started
  assert.equal(started.length, 1)
  await app.inject(sync)
  assert.deepEqual(
    (await allEntries(app)).map((entry) => entry.server),
    documentsOf(first),
  )
  assert.equal(started.length, 1)
  await eventually(() => small?.threadId === -1 || undefined)

  const changed = (await app.inject(sync)).json()
  assert.deepEqual(changed, { source: 'main', outcome: 'changed', versions: 1_201, refused: 1 })
  const latest = (await app.inject(`${BASE}/a.example%2Fs0001/versions/latest`)).json()
  assert.deepEqual(latest.server, newer)
  assert.equal(started.length, 2)
  const again = (await app.inject(sync)).json()
  assert.deepEqual(again, { source: 'main', outcome: 'unchanged', versions: 1_201, refused: 1 })

  await app.inject(sync)
  await app.close()
  assert.equal(started.length, 3)
  assert.ok(started.every(({ threadId }) => threadId === -1))
})

test('a thread that dies, at work or while it waits, fails at most one sync', async (t) => {
  const started = threads(t)
  const first = [server('a.example/one', '1.0.0')]
  const source = sourceOf([
    () => whole(first),
    async () => {
      await started.at(-1)?.terminate()
      process.once('worker', (worker) => void worker.terminate())
      return whole(many('1.0.0'))
    },
    () => whole(many('1.0.0')),
  ])
  const app = await booted(t, [...registryOf([source], ['main']), internalRoutes])
  const answer = await app.inject(sync)
  assert.equal(answer.statusCode, 502)
  assert.match(answer.json().error_description, /thread .* exited early/)
  assert.deepEqual(
    (await allEntries(app)).map((entry) => entry.server),
    first,
  )
  assert.equal((await app.inject('/internal/readiness')).json().checks['source main'].status, 'degraded')

  assert.equal((await app.inject(sync)).json().versions, 1_200)
})

test('a few documents are served while many of another source are parsed', async (t) => {
  const large = sourcePlugin('large', async () => whole(many('1.0.0', 20_000)))
  const small = sourcePlugin('small', async () => whole([server('a.example/one', '1.0.0')]))
  const app = await booted(t, [...registryOf([small, large], ['small', 'large']), internalRoutes])
  const order: string[] = []
  const asked = ['large', 'small'].map((name) =>
    app.inject({ ...sync, url: `/internal/sync/${name}` }).then(() => order.push(name)),
  )
  await Promise.all(asked)
  assert.deepEqual(order, ['small', 'large'])
})

test('an error in the thread is reported as it is without one', async (t) => {
  const text = JSON.stringify(many('1.0.0'))
  const source = sourceOf([() => ({ kind: 'whole', payloads: [Buffer.from(`${text.slice(0, -1)},]`)] })])
  const app = await booted(t, [...registryOf([source], ['main']), internalRoutes])
  const answer = await app.inject(sync)
  assert.equal(answer.json().error_description, `not JSON at byte ${text.length}`)
})

test('a gateway that stops does not wait for the thread', async (t) => {
  const started = threads(t)
  let isAsked = (): void => {}
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve
  })
  const source = sourceOf([
    () => whole([server('a.example/one', '1.0.0')]),
    () => {
      isAsked()
      return whole(many('1.0.0', 20_000))
    },
  ])
  const running = await serving(t, registryOf([source], ['main'], { stateDirectory: folder(t) }))
  const [worker] = started
  assert.ok(worker !== undefined)
  const exited = once(worker, 'exit')
  const answer = fetch(`${running.addresses.internal}/sync/main`, { method: 'POST' }).catch(() => {})
  await asked
  await running.stop(0)
  const [code] = await exited
  assert.equal(code, 1, 'it was ended and did not finish')
  await answer
})

test('two gateways in one process parse at the same time', async (t) => {
  const apps = await Promise.all(
    ['1.0.0', '2.0.0'].map((version) =>
      booted(t, [...registryOf([sourceOf([() => whole(many(version))])], ['main']), internalRoutes]),
    ),
  )
  await Promise.all(apps.map((app) => app.inject(sync)))
  for (const [index, app] of apps.entries()) {
    const versions = new Set((await allEntries(app)).map((entry) => entry.server.version))
    assert.deepEqual([...versions], [`${index + 1}.0.0`])
  }
})

const whole = (documents: unknown): FetchResult => ({ kind: 'whole', payloads: [payload(documents)] })

test('whatever changes in whatever order, the latest documents are served', async (t) => {
  const change = fc.record({
    name: fc.integer({ min: 0, max: 40 }),
    version: fc.integer({ min: 0, max: 3 }),
    size: fc.integer({ min: 0, max: 30_000 }),
  })
  const made = fc.sample(fc.array(change, { maxLength: 25 }), { numRuns: 16, seed: 7 })
  const given = made.map((changes, round) =>
    changes.map(({ name, version, size }) =>
      server(`a.example/S${name}`, `1.${version}.0`, { round, x: 'x'.repeat(size) }),
    ),
  )
  const left = [...given]
  const source = sourcePlugin('main', async () => ({
    kind: 'changes',
    payloads: [payload(left.shift() ?? [])],
  }))
  const low = sourcePlugin('low', async () =>
    whole([server('a.example/S7x', '1.0.0'), server('a.example/S7', '9.0.0')]),
  )
  const entries = registryOf([source, low], ['main', 'low'])
  const app = await booted(t, [...entries, internalRoutes])

  const held = new Map<string, object>()
  for (const [round, documents] of given.entries()) {
    if (round > 0) await app.inject(sync)
    for (const document of documents) held.set(`${document.name} ${document.version}`, document)
    const expected = new Map(held).set('a.example/S7x 1.0.0', server('a.example/S7x', '1.0.0'))
    if (![...held.keys()].some((key) => key.startsWith('a.example/S7 '))) {
      expected.set('a.example/S7 9.0.0', server('a.example/S7', '9.0.0'))
    }
    const found = (await allEntries(app)).map((entry) => entry.server)
    const order = (a: { name: string; version: string }, b: { name: string; version: string }): number =>
      a.name < b.name ? -1 : a.name > b.name ? 1 : b.version.localeCompare(a.version)
    assert.deepEqual(found, ([...expected.values()] as typeof found).toSorted(order), `round ${round}`)
    const part = (await app.inject(`${BASE}?search=${encodeURIComponent('/s7')}&limit=100`)).json()
    assert.deepEqual(
      part.servers.map((entry: ListBody['servers'][number]) => entry.server),
      found.filter(({ name }) => name.toLowerCase().includes('/s7')),
    )
  }
})
