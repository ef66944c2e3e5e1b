import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { type TestContext, test } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { type ContentsChange, GatewayError, type SourceStore, type StoredContents } from 'sallyport'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { noPooler, noPostgres, PostgresCluster } from '#kit/postgres.js'
import { READ_LIMIT } from '#plugins/store/database/database.js'
import { change, documents, forever, keyOf, leading, read, storeOf } from './catalogue-stores.js'

const skip = noPostgres
const cluster = new PostgresCluster()

interface Replica {
  readonly open: (name: string, place?: string) => SourceStore
  readonly store: SourceStore
  /** Of its copies. */
  readonly directory: string
}

async function replicas(t: TestContext, more: object = {}) {
  const database = await cluster.database()
  const replica = async (): Promise<Replica> => {
    const directory = folder(t)
    const options = { url: database.url, migrate: true, directory, schema: 'own', ...more }
    const open = await storeOf(t, 'store/postgres', options)
    return { open, store: open('main'), directory }
  }
  return { database, replica, one: await replica(), other: await replica() }
}

const LOCK_HOLDERS = `pid in (select pid from pg_locks where locktype = 'advisory')`
const LISTENERS = `query like 'listen%'`

const isCode =
  (...codes: string[]) =>
  (error: unknown): boolean =>
    error instanceof GatewayError && codes.includes(error.code)

/** Counts what it is told of. */
function counting() {
  let count = 0
  return { add: () => void count++, count: () => count }
}

test('a process that lost the lead writes nothing, and another goes on from the bookmark', {
  skip,
}, async (t) => {
  const { database, one, other } = await replicas(t)
  const led = await leading(one.store)
  const first = await one.store.write(change({ 'a@1': '1' }, { bookmark: 'here' }), forever)
  const next = leading(other.store)

  await cluster.terminateBackends(database, LOCK_HOLDERS)
  await assert.rejects(
    one.store.write(change({ 'b@1': '1' }), forever),
    isCode('DATABASE_LOCK_LOST', 'DATABASE_UNAVAILABLE'),
  )
  await eventually(() => led.signal.aborted)
  await led.stop()
  await next

  const found = await read(other.store)
  assert.deepEqual([found?.bookmark, found?.text, found?.revision], ['here', '[1]', first])
  const second = await other.store.write(change({ 'b@1': '2' }, { all: { 'a@1': '1', 'b@1': '2' } }), forever)
  await assert.rejects(one.store.write(change({ 'b@1': '3' }), forever), isCode('DATABASE_LOCK_LOST'))
  assert.equal((await read(one.store, first))?.revision, second)
})

test('a write that two transactions disturb is whole or not there', { skip }, async (t) => {
  const { database, one } = await replicas(t)
  await leading(one.store)
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`s${at}@1`, `${at}`]))
  const before = await one.store.write(change({ 'a@1': '1' }), forever)

  const writing = assert.rejects(one.store.write(change(many, { all: { 'a@1': '1', ...many } }), forever))
  const inTheMiddle = `${LOCK_HOLDERS} and query like 'insert into version%'`
  await eventually(async () => (await cluster.terminateBackends(database, inTheMiddle)) > 0)
  await writing
  assert.equal(await read(one.store, before), undefined)

  const { store } = one
  await eventually(() =>
    store.write(change(many, { all: { 'a@1': '1', ...many } }), forever).catch(() => false),
  )
  assert.equal(JSON.parse((await read(store))?.text.replaceAll('],[', ',') ?? '').length, 5_001)
})

test('a write wakes the other processes, also those that were not connected then', { skip }, async (t) => {
  const { database, one, other } = await replicas(t)
  const woken = counting()
  t.after(other.store.shared?.watch(woken.add))
  await leading(one.store)
  await eventually(() => woken.count() > 0)

  const before = woken.count()
  const since = performance.now()
  const first = await one.store.write(change({ 'a@1': '1' }), forever)
  await eventually(() => woken.count() > before, 2)
  t.diagnostic(`woken after ${(performance.now() - since).toFixed(0)} ms`)

  await cluster.terminateBackends(database, LISTENERS)
  const atLoss = woken.count()
  await one.store.write(change({ 'a@1': '2' }), forever)
  await eventually(() => woken.count() > atLoss)
  assert.equal((await read(other.store, first))?.text, '[2]')
})

test('a failure of the leader is read by the others, and its end', { skip }, async (t) => {
  const { one, other } = await replicas(t)
  await leading(one.store)
  const first = await one.store.write(change({ 'a@1': '1' }, { bookmark: 'b' }), forever)
  await one.store.shared?.report('the source is away', forever)
  await one.store.shared?.report('the source is away', forever)

  const failed = await read(other.store, first)
  assert.deepEqual(
    { ...failed, revision: 0 },
    {
      kind: 'changes',
      revision: 0,
      bookmark: 'b',
      failure: 'the source is away',
      removed: [],
      text: '',
    },
  )
  await one.store.shared?.report(undefined, forever)
  assert.equal((await read(other.store, failed?.revision))?.failure, undefined)

  await one.store.write(change({ 'a@1': '2' }), forever)
  assert.deepEqual(
    (await read(other.store, first))?.text,
    '[2]',
    'the leader’s own changes are still changes',
  )
})

test('a requested sync reaches the leader, whoever it is, and one that comes later', { skip }, async (t) => {
  const { one, other } = await replicas(t)
  const [asked, otherAsked] = [counting(), counting()]
  t.after(one.store.shared?.onSyncRequest(asked.add))
  t.after(other.store.shared?.onSyncRequest(otherAsked.add))
  const led = await leading(one.store)

  await other.store.shared?.requestSync()
  await eventually(() => asked.count() === 1, 2)
  await led.stop()
  await one.store.shared?.requestSync()
  assert.equal(otherAsked.count(), 0)
  await leading(other.store)
  await eventually(() => otherAsked.count() === 1)
  assert.equal(asked.count(), 1)
})

test('a start without the database serves the copy, which the next read brings up to date', {
  skip,
}, async (t) => {
  const { database, one, other } = await replicas(t)
  await leading(one.store)
  const all = { 'a@1': '1', 'b@1': '1' }
  const first = await one.store.write(change(all, { bookmark: 'first' }), forever)
  await other.store.shared?.saveCopy({ all: documents(all), bookmark: 'first' }, first, forever)
  assert.ok(readdirSync(other.directory).includes('catalogue.sqlite'))
  const second = await one.store.write(change({ 'b@1': '2' }, { removed: [keyOf('a@1')] }), forever)

  for (const fault of ['stop', 'pause'] as const) {
    await cluster[fault]()
    const since = performance.now()
    const restored = await read(other.open('main'))
    t.diagnostic(`${fault}: read after ${(performance.now() - since).toFixed(0)} ms`)
    assert.deepEqual([restored?.kind, restored?.revision, restored?.text], ['whole', first, '[1,1]'])
    await assert.rejects(read(one.open('main')), isCode('DATABASE_UNAVAILABLE'))
    await assert.rejects(read(other.store, first), isCode('DATABASE_UNAVAILABLE'))
    if (fault === 'pause') cluster.resume()
    else await cluster.start()
    await eventually(() =>
      database.query('select 1').then(
        () => true,
        () => false,
      ),
    )
  }

  const changes = await eventually(() => read(other.open('main'), first).catch(() => undefined))
  assert.deepEqual(
    [changes.kind, changes.revision, changes.text, changes.removed],
    ['changes', second, '[2]', [keyOf('a@1')]],
  )
})

test('whole reads wait for each other without a limit, and leave a connection for other work', {
  skip,
}, async (t) => {
  const { one, other } = await replicas(t)
  // More than is read at once.
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`s${at}@1`, `${at}`]))
  const names = ['a', 'b', 'c', 'd', 'e']
  for (const name of names) {
    const store = one.open(name)
    await leading(store)
    await store.write(change(many), forever)
  }
  const opened: StoredContents[] = []
  const failed: unknown[] = []
  const reads = names.map(async (name) => {
    const contents = await other.open(name).read(undefined, forever)
    if (contents !== undefined) opened.push(contents)
  })
  for (const each of reads) each.catch((error: unknown) => failed.push(error))
  const giveUp = new AbortController()
  const impatient = assert.rejects(other.open('a').read(undefined, giveUp.signal), /enough/)
  await eventually(() => opened.length === 3)
  // Longer than a read may wait for the database.
  await setTimeout(READ_LIMIT * 1.5)
  assert.deepEqual([opened.length, failed], [3, []])
  giveUp.abort(new Error('enough'))
  await impatient
  await other.store.shared?.requestSync()

  let documents = 0
  for (let at = 0; at < names.length; at++) {
    await eventually(() => opened.length > at)
    for await (const payload of opened[at]?.payloads ?? []) documents += JSON.parse(String(payload)).length
  }
  await Promise.all(reads)
  assert.equal(documents, 300 * names.length)
})

test('queued reads fail with the reads before them', { skip }, async (t) => {
  const { other } = await replicas(t)
  await read(other.store)
  cluster.pause()
  t.after(() => cluster.resume())
  const errors: unknown[] = []
  const reads = Array.from({ length: 20 }, (_, at) =>
    other
      .open(`source ${at}`)
      .read(1, forever)
      .catch((error: unknown) => errors.push(error)),
  )
  await Promise.race(reads)
  await setImmediate()
  assert.ok(errors.length >= 17, `${errors.length} of 20 have failed`)
  assert.ok(errors.every(isCode('DATABASE_UNAVAILABLE')))
  await Promise.all(reads)
})

test('a silent database holds a write up for a bounded time', { skip }, async (t) => {
  const { one } = await replicas(t)
  await leading(one.store)
  await one.store.write(change({ 'a@1': '1' }), forever)
  cluster.pause()
  t.after(() => cluster.resume())
  const since = performance.now()
  await assert.rejects(one.store.write(change({ 'a@1': '2' }), forever), isCode('DATABASE_UNAVAILABLE'))
  t.diagnostic(`refused after ${(performance.now() - since).toFixed(0)} ms`)
  cluster.resume()
  // It leads again by itself.
  await eventually(() => one.store.write(change({ 'a@1': '3' }), forever).catch(() => undefined))
  assert.equal((await read(one.store))?.text, '[3]')
})

test('a restored database is read as a whole, and lost contents are written again', {
  skip,
}, async (t) => {
  const { database, one, other } = await replicas(t)
  const { stop } = await leading(one.store)
  const kept = await one.store.write(change({ 'a@1': '1' }, { bookmark: 'kept' }), forever)
  const tables = ['source_state', 'source_revision', 'version']
  for (const table of tables) await database.query(`create table ${table}_backup as table own.${table}`)
  const lost = await one.store.write(change({ 'a@1': '2', 'b@1': '2' }), forever)

  await database.query('truncate own.source_state cascade')
  for (const table of tables)
    await database.query(`insert into own.${table} overriding system value table ${table}_backup`)
  assert.deepEqual(
    [(await read(other.store, lost))?.text, (await read(other.store, lost))?.revision],
    ['[1]', kept],
  )

  await read(one.store, lost)
  await one.store.write(change({ 'c@1': '3' }, { all: { 'a@1': '1', 'c@1': '3' } }), forever)
  const whole = await read(other.store, lost)
  assert.equal(whole?.kind, 'whole', 'the revision is newer than the lost one, and not of its history')
  assert.equal(whole?.text, '[1,3]')

  // Emptied: nothing to drop, and nothing to go on from.
  await database.query('truncate own.source_state cascade')
  const emptied = await read(other.store, whole?.revision)
  assert.deepEqual(
    [emptied?.kind, emptied?.revision, emptied?.removed, emptied?.text],
    ['changes', 0, [], ''],
  )
  assert.equal(await read(other.store, 0), undefined)
  await read(one.store, whole?.revision)
  await one.store.write(change({}, { all: { 'a@1': '1', 'c@1': '3' } }), forever)
  assert.deepEqual((await read(other.store, 0))?.text, '[1,3]')

  // The leader wrote before it looked.
  await database.query('truncate own.source_state cascade')
  await one.store.write(change({ 'd@1': '4' }, { all: { 'a@1': '1', 'c@1': '3', 'd@1': '4' } }), forever)
  assert.equal((await read(other.store))?.text, '[1,3,4]')
  await stop()
})

test('everything is written in a time that the number of versions determines, not its square', {
  skip,
}, async (t) => {
  const { database, one, other } = await replicas(t)
  // With little memory, as with many more versions.
  await database.query(`alter database ${database.name} set work_mem = '64kB'`)
  await cluster.terminateBackends(database)
  const versions = (prefix: string) =>
    Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`${prefix}${at}@1`, `"${prefix}"`]))
  await eventually(() => leading(one.store))
  const write = (given: ContentsChange) => eventually(() => one.store.write(given, forever).catch(() => 0))
  await write(change(versions('old')))
  await database.query('update own.source_state set revision = revision - 1')

  const given = change({}, { all: versions('new') })
  const pauses = monitorEventLoopDelay({ resolution: 5 })
  pauses.enable()
  const since = performance.now()
  await one.store.write(given, forever)
  pauses.disable()
  t.diagnostic(
    `written after ${(performance.now() - since).toFixed(0)} ms, longest pause ${(pauses.max / 1e6).toFixed(0)} ms`,
  )
  const [kept] = await database.query(
    'select count(*)::integer as count from own.version where document is not null',
  )
  assert.deepEqual(kept, { count: 20_000 })
  assert.doesNotMatch((await read(other.store))?.text ?? '', /old/)
})

test('tombstones are purged after a week, and a process that missed them reads the whole', {
  skip,
}, async (t) => {
  const { database, one, other } = await replicas(t)
  await leading(one.store)
  const first = await one.store.write(change({ 'a@1': '1', 'b@1': '1' }), forever)
  const second = await one.store.write(change({}, { removed: [keyOf('a@1')], all: { 'b@1': '1' } }), forever)
  await database.query(
    `update own.source_revision set written_at = now() - interval '8 days' where revision = ${first}`,
  )
  const third = await one.store.write(change({}, { removed: [keyOf('c@1')], all: { 'b@1': '1' } }), forever)

  assert.equal((await database.query('select from own.version where document is null')).length, 0)
  assert.equal((await read(other.store, first))?.kind, 'whole')
  assert.deepEqual((await read(other.store, second))?.kind, 'changes')
  assert.equal(await read(other.store, third), undefined)
})

test('locks and notifications go past a pooler in transaction mode', { skip: noPooler }, async (t) => {
  const database = await cluster.database()
  const options = {
    url: await cluster.pooler(database),
    directUrl: database.url,
    migrate: true,
    directory: null,
  }
  const [open, openOther] = [
    await storeOf(t, 'store/postgres', options),
    await storeOf(t, 'store/postgres', options),
  ]
  const [store, other] = [open('main'), openOther('main')]
  const woken = counting()
  t.after(other.shared?.watch(woken.add))
  await leading(store)
  await eventually(() => woken.count() > 0)
  const before = woken.count()
  await store.write(change({ 'a@1': '1' }), forever)
  await eventually(() => woken.count() > before, 2)
  assert.equal((await read(other))?.text, '[1]')
})
