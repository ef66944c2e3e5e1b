import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { FetchResult, SyncContext } from 'sallyport'
import { serving } from 'sallyport/testing'
import { booted, contextFor } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { contractSuite } from '#kit/contract-suite.js'
import { folder } from '#kit/folder.js'
import { closedPort } from '#kit/listening.js'
import { listen } from '#kit/plugin.js'
import { noPostgres, PostgresCluster } from '#kit/postgres.js'
import { LEVEL } from '#plugins/store/database/tables.js'
import { PostgresSource } from '#plugins/store/postgres/postgres-source.js'
import { BASE, internalRoutes, payload, registryOf, server, sourcePlugin } from '../registry/registry.js'
import { change, type Documents, forever, keyOf, leading, read, storeOf } from './catalogue-stores.js'
import { opening } from './database/opening.js'

const skip = noPostgres
const cluster = new PostgresCluster()

if (skip === undefined)
  contractSuite('store/postgres', async (t) => {
    const { url } = await cluster.database()
    return { list: [{ use: 'store/postgres', with: { url, migrate: true, directory: folder(t) } }] }
  })

/** Two processes that share a database, by their stores of the source `main`. */
async function twoStores(t: TestContext) {
  const database = await cluster.database()
  const options = { url: database.url, migrate: true, directory: null, schema: 'own' }
  const open = await storeOf(t, 'store/postgres', options)
  const openOther = await storeOf(t, 'store/postgres', options)
  return { database, options, open, openOther, store: open('main'), other: openOther('main') }
}

// Numbers, members and their order that do not survive being parsed.
const DOCUMENT = '{"server":{"n":1.0,"n":1e400,"b":"\\u0000\\ud800","a":[]},"_meta":{}}'

test('a process reads the contents that another wrote, byte for byte', { skip }, async (t) => {
  const { store, other } = await twoStores(t)
  assert.equal(await read(other), undefined)
  await leading(store)
  const written = { 'a@1': DOCUMENT, 'b@1': '{"b":1}' }

  const first = await store.write(change(written, { bookmark: 'first' }), forever)
  assert.deepEqual(await read(other), {
    kind: 'whole',
    revision: first,
    bookmark: 'first',
    failure: undefined,
    removed: undefined,
    text: `[${DOCUMENT},{"b":1}]`,
  })
  assert.equal(await read(other, first), undefined)

  const removed = [keyOf('a@1')]
  const second = await store.write(change({ 'c@1': '{}' }, { removed, bookmark: 'second' }), forever)
  assert.ok(second > first)
  assert.deepEqual(await read(other, first), {
    kind: 'changes',
    revision: second,
    bookmark: 'second',
    failure: undefined,
    removed,
    text: '[{}]',
  })
})

test('names and versions of any text and length stay distinct', { skip }, async (t) => {
  const { store, other } = await twoStores(t)
  await leading(store)
  const long = 'x'.repeat(100_000)
  const ids = [
    '\0@1',
    '\ud800@1',
    '\ud801@1',
    '\u{fffd}@1',
    'n@\n1',
    'n\n@1',
    `${long}@1`,
    `${long}y@${long}`,
    '\\u0000@1',
  ]
  const documents = Object.fromEntries(ids.map((id, index) => [id, `{"at":${index}}`]))

  const first = await store.write(change(documents), forever)
  assert.equal(JSON.parse((await read(other))?.text ?? '').length, ids.length)

  await store.write(change({}, { removed: ids.slice(1).map(keyOf), all: { '\0@1': '{"at":0}' } }), forever)
  assert.equal((await read(other))?.text, '[{"at":0}]')
  assert.deepEqual((await read(other, first))?.removed, ids.slice(1).map(keyOf))
})

test('two places of a source have separate contents, and both can be used side by side', {
  skip,
}, async (t) => {
  const { database, open, openOther } = await twoStores(t)
  const [here, there] = [open('main', 'here'), openOther('main', 'there')]
  const [{ stop }] = await Promise.all([leading(here), leading(there)])
  await here.write(change({ 'a@1': '"here"' }), forever)
  assert.equal(await read(there), undefined)
  await there.write(change({ 'a@1': '"there"' }), forever)
  assert.equal((await read(here))?.text, '["here"]')

  await database.query(`update own.source_state set used_at = now() - interval '31 days'`)
  const next = openOther('main', 'here')
  next.shared?.onSyncRequest(() => {})
  await stop()
  await leading(next)
  await eventually(async () => (await database.query('select from own.version')).length === 1)
  assert.equal((await read(here))?.text, '["here"]')
})

const documentSets = fc.dictionary(
  fc.constantFrom('a@1', 'a@2', 'b@1', 'c@1', 'd@1'),
  fc.integer({ min: 0, max: 3 }).map((value) => JSON.stringify({ value })),
  { noNullPrototype: true },
)

test('a process that reads changes at any moment has the same contents as a whole read', {
  skip,
}, async (t) => {
  const { open, openOther } = await twoStores(t)
  let sources = 0
  const steps = fc.array(fc.record({ all: documentSets, isRead: fc.boolean(), report: fc.boolean() }), {
    maxLength: 8,
  })
  await fc.assert(
    fc.asyncProperty(steps, async (moves) => {
      const name = `source ${++sources}`
      const [store, other] = [open(name), openOther(name)]
      const { stop } = await leading(store)
      let [before, seen]: [Documents, number | undefined] = [{}, undefined]
      let known: Record<string, string> = {}
      for (const { all, isRead, report } of [
        ...moves,
        { all: { 'z@1': '{}' }, isRead: true, report: false },
      ]) {
        const changed = Object.fromEntries(Object.entries(all).filter(([id, json]) => before[id] !== json))
        const removed = Object.keys(before)
          .filter((id) => !(id in all))
          .map(keyOf)
        await store.write(change(named(changed), { removed, all: named(all) }), forever)
        if (report) await store.shared?.report(`failure ${seen}`, forever)
        before = all
        const found: Awaited<ReturnType<typeof read>> = isRead ? await read(other, seen) : undefined
        if (found === undefined) continue
        known = found.kind === 'whole' ? {} : { ...known }
        for (const { name: gone, version } of found.removed ?? []) delete known[`${gone}@${version}`]
        const documents: [string, string][] = JSON.parse(found.text === '' ? '[]' : `[${found.text}]`).flat()
        for (const [id, json] of documents) known[id] = json
        seen = found.revision
        assert.deepEqual(known, all)
      }
      await stop()
    }),
    { numRuns: 25 },
  )
})

/** Documents that hold their own names. */
const named = (documents: Documents): Documents =>
  Object.fromEntries(Object.entries(documents).map(([id, json]) => [id, JSON.stringify([id, json])]))

test('without its tables the store is down and says what to do, and is ready once they are there', {
  skip,
}, async (t) => {
  const { url } = await cluster.database()
  const options = { url, directory: null }
  const list = [
    { use: 'store/postgres', with: options },
    internalRoutes,
    ...registryOf([sourcePlugin('main', async () => whole)], ['main'], {
      stateDirectory: undefined,
    }),
  ]
  const app = await booted(t, list)
  const readiness = () => app.inject('/internal/readiness')
  const before = await readiness()
  assert.equal(before.statusCode, 503)
  assert.match(before.body, /sallyport migrate/)

  const { default: plugin } = await import('#plugins/store/postgres.js')
  const migrate = async () =>
    plugin.migrate?.({ path: (path) => path, signal: forever }, { ...options, schema: 'sallyport' } as never)
  assert.equal((await migrate())?.length, LEVEL)
  assert.deepEqual(await migrate(), [])
  await eventually(async () => (await readiness()).statusCode === 200)
  assert.equal((await app.inject(BASE)).json().metadata.count, 1)

  await cluster.stop()
  t.after(() => cluster.start())
  await eventually(async () => {
    await app.inject({ method: 'POST', url: '/internal/sync/main' })
    return /was the newest at 20/.test((await readiness()).body)
  })
  assert.equal((await readiness()).statusCode, 200, 'what is served is still good')
  assert.equal((await app.inject(BASE)).json().metadata.count, 1)
})

test('a database that is emptied while replicas run is filled by the leader’s next sync, and nothing is dropped', {
  skip,
}, async (t) => {
  const { url, query } = await cluster.database()
  const served = { answer: unchangedAfter('mark') }
  const replica = () =>
    booted(t, [
      { use: 'store/postgres', with: { url, migrate: true, directory: null } },
      internalRoutes,
      ...registryOf([sourcePlugin('main', (context) => served.answer(context))], ['main'], {
        stateDirectory: undefined,
      }),
    ])
  const replicas = [await replica(), await replica()]
  const count = async (app: (typeof replicas)[number]) => (await app.inject(BASE)).json().metadata?.count
  for (const app of replicas) await eventually(async () => (await count(app)) === 1)
  const sync = async () => {
    for (const app of replicas) await app.inject({ method: 'POST', url: '/internal/sync/main' })
    for (const app of replicas) assert.equal(await count(app), 1)
    return (await query('select from sallyport.version')).length === 1
  }

  await query('truncate sallyport.source_state cascade')
  await eventually(sync)
  const later = await replica()
  assert.equal(await count(later), 1)

  await query('drop schema sallyport cascade')
  served.answer = () => Promise.reject(new Error('the source is away'))
  await eventually(() => sync().catch(() => false))
  const last = await replica()
  assert.equal(await count(last), 1)
})

test('a process finds a change without notifications, by its regular check', { skip }, async (t) => {
  const {
    store,
    database: { url },
  } = await twoStores(t)
  // Nothing listens there, so neither locks nor notifications ever have a connection.
  const directUrl = `postgres://nobody@127.0.0.1:${new URL(await closedPort()).port}/nothing`
  const { database } = await opening(t, { url, schema: 'own', directUrl })
  const follower = new PostgresSource(
    { name: 'main', location: 'https://registry.example.com' },
    { database, copy: undefined, isCurrent: () => {}, longestPoll: 100 },
  )
  const found: (string | undefined)[] = []
  const stop = follower.watch(
    () => void read(follower).then((contents) => found.push(contents?.text), assert.ifError),
  )
  t.after(stop)
  await leading(store)
  await store.write(change({ 'a@1': '1' }), forever)
  await eventually(() => found.includes('[1]'))
})

/** A registry on a database, with its metrics. */
async function measured(t: TestContext) {
  const database = await cluster.database()
  const list = [
    listen,
    { use: 'internal/metrics', with: { process: false } },
    { use: 'store/postgres', with: { url: database.url, migrate: true, directory: null } },
    ...registryOf([sourcePlugin('main', async () => whole)], ['main'], {
      stateDirectory: undefined,
    }),
  ]
  const running = await serving(t, list)
  const { internal } = running.addresses
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`${internal}/metrics`)).text()
    const line = text.split('\n').find((each) => each.startsWith(`sallyport_${name} `))
    return Number(line?.split(' ').at(-1))
  }
  return {
    database,
    metric,
    sync: () => fetch(`${internal}/sync/main`, { method: 'POST' }),
    reload: () => running.swap(list, contextFor({})),
    lost: (use: string) => metric(`database_connections_lost_total{use="${use}"}`),
    connections: (state: string) => metric(`database_pool_connections{state="${state}"}`),
  }
}

test('metrics show the pool, lost connections, and the age of the served contents', { skip }, async (t) => {
  const { database, metric, sync, lost, connections } = await measured(t)
  const since = Date.now() / 1000
  await sync()
  assert.ok((await metric('store_revision{source="main"}')) > 0)
  const current = 'store_current_timestamp_seconds{source="main"}'
  await eventually(async () => (await metric(current)) >= since)
  // One is in use each time that something looks for changes.
  await eventually(async () => (await connections('idle')) >= 1)

  await cluster.terminateBackends(database, "query like 'listen%'")
  await eventually(async () => (await lost('notifications')) === 1)
  // A stop loses the connections that are open at that moment.
  await eventually(async () => (await connections('idle')) >= 1)
  await cluster.stop()
  t.after(() => cluster.start())
  for (const use of ['pool', 'locks']) await eventually(async () => (await lost(use)) >= 1)
  const before = await metric(current)
  await sync()
  assert.equal(await metric(current), before, 'it grows old')
})

test('the pool is measured over reloads, and a lost connection is counted once', { skip }, async (t) => {
  const { database, reload, lost, connections } = await measured(t)
  await reload()
  await reload()
  assert.equal(await connections('waiting'), 0)
  const leaders = "pid in (select pid from pg_locks where locktype = 'advisory')"
  const one = async () => (await cluster.terminateBackends(database, leaders)) === 1
  await eventually(one)
  await eventually(async () => (await lost('locks')) >= 1)
  const before = await lost('locks')
  await eventually(one)
  await eventually(async () => (await lost('locks')) > before)
  assert.equal(await lost('locks'), before + 1)
})

const unchangedAfter =
  (mark: string) =>
  async ({ bookmark }: SyncContext): Promise<FetchResult> =>
    bookmark === mark ? { kind: 'unchanged' } : { ...whole, bookmark: () => mark }

const whole = { kind: 'whole', payloads: [payload([server('a.example/one', '1.0.0')])] } as const
