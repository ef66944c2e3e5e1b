import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { contractSuite } from 'sallyport/testing'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { noPostgres, PostgresCluster } from '#kit/postgres.js'
import { another, holding, storeSuite, storing } from './storing.js'

const cluster = new PostgresCluster()
const skip = noPostgres ?? false

const entryAt = (url: string, options: object = {}) => ({
  use: 'state/postgres',
  with: { url, migrate: true, passphrase: 'open sesame', ...options },
})

const storeAt = async (t: TestContext, url: string, options?: object) =>
  (await storing(t, [entryAt(url, options)])).store

async function took(work: () => Promise<unknown>): Promise<number> {
  const since = performance.now()
  await work()
  return performance.now() - since
}

if (noPostgres === undefined) {
  storeSuite('state/postgres', async () => entryAt((await cluster.database()).url))
  contractSuite('state/postgres', async () => ({ list: [entryAt((await cluster.database()).url)] }))
}

test('the database holds no plain value, and keys are listed by any prefix', { skip }, async (t) => {
  const { url, query } = await cluster.database()
  const store = await storeAt(t, url)
  const keys = ['a\0b', 'a\ud83d', 'a\ud83d\ude00', `a"'\\u0000`, 'b'.repeat(20_000)]
  for (const key of keys) await store.set(key, `canary-token of ${key}`)
  for (const key of keys) assert.equal(await store.get(key), `canary-token of ${key}`)
  assert.deepEqual(await store.keys('a'), keys.slice(0, 4).sort())
  assert.deepEqual(await store.keys('a\ud83d'), keys.slice(1, 3).sort())

  const dump = await query<{ row: string }>(`select encode(value, 'escape') as row from sallyport.state`)
  assert.equal(dump.length, keys.length)
  assert.doesNotMatch(JSON.stringify(dump), /canary|open sesame/)
})

test('no process takes a value that it cannot decrypt, and each write deletes expired values', {
  skip,
}, async (t) => {
  const { url, query } = await cluster.database()
  const store = await storeAt(t, url)
  await store.set('ticket', 'mine')
  const other = await storeAt(t, url, { passphrase: 'another' })
  await assert.rejects(other.take('ticket'), { code: 'STATE_SEALED' })
  assert.equal(await store.take('ticket'), 'mine')

  await query(
    `insert into sallyport.state (key, value, expires_at) select i::text::bytea, 'x', now() from generate_series(1, 150) i`,
  )
  const counts: unknown[] = []
  for (const key of ['a', 'b']) {
    await store.set(key, 'value')
    counts.push(
      (await query<{ count: number }>('select count(*)::int as count from sallyport.state'))[0]?.count,
    )
  }
  assert.deepEqual(counts, [51, 2])
})

test('a value of another passphrase, one that was moved, and one that was changed are refused, and stay', {
  skip,
}, async (t) => {
  const { url, query } = await cluster.database()
  const store = await storeAt(t, url)
  await store.set('key', 'mine')
  const other = await storeAt(t, url, { passphrase: 'another' })
  await assert.rejects(other.get('key'), { code: 'STATE_SEALED', message: /passphrase/ })
  await assert.rejects(other.set('key', 'theirs'), { code: 'STATE_SEALED' })
  assert.equal(await store.get('key'), 'mine')

  await query(`insert into sallyport.state (key, value) select 'moved', value from sallyport.state`)
  await assert.rejects(store.get('moved'), { code: 'STATE_SEALED' })
  await query(`update sallyport.state set value = 'nonsense' where key = 'key'`)
  await assert.rejects(store.get('key'), { code: 'STATE_SEALED' })
  await store.delete('key')
  assert.equal(await store.get('key'), undefined)
})

test('without a passphrase it does not start, and says what to set', { skip }, async (t) => {
  const starting = storing(t, [{ use: 'state/postgres', with: { url: 'postgres://h/d' } }])
  await assert.rejects(starting, /set SALLYPORT_STATE_PASSPHRASE/)
})

test('one process at a time holds a lock, and a killed process holds none', { skip }, async (t) => {
  const { url } = await cluster.database()
  const store = await storeAt(t, url)
  const counter = join(folder(t), 'counter')
  writeFileSync(counter, '0')
  const counted = () => another(t, entryAt(url), 'count', counter).closed
  assert.deepEqual(await Promise.all([counted(), counted()]), [
    [0, null],
    [0, null],
  ])
  assert.equal(readFileSync(counter, 'utf8'), '10')

  const holder = await holding(t, entryAt(url))
  let isFree = false
  const waiting = store.locked('key', async () => {
    isFree = true
  })
  await store.locked('other', () => store.set('other', 'x'))
  assert.equal(isFree, false)
  await holder.killed()
  await waiting
})

test('a write under a lost lock fails, and later writes succeed', { skip }, async (t) => {
  const test = await cluster.database()
  const [a, b] = [await storeAt(t, test.url), await storeAt(t, test.url)]
  let later: Promise<void> | undefined
  let go = (): void => {}
  await a.locked('key', async () => {
    await a.set('key', 'first')
    // Something that was begun under the lock, and goes on after it.
    later = new Promise<void>((resolve) => {
      go = resolve
    }).then(() => a.set('later', 'x'))
    await cluster.terminateBackends(test)
    await eventually(() =>
      a.get('key').then(
        () => undefined,
        () => true,
      ),
    )
    await assert.rejects(a.set('key', 'late'), { code: 'DATABASE_LOCK_LOST', statusCode: 503 })
    await b.locked('key', () => b.set('key', 'theirs'))
  })
  assert.equal(await a.get('key'), 'theirs')
  go()
  await later
  assert.equal(await b.get('later'), 'x')
})

test('an absent or silent server delays a read for two seconds and a write for ten', {
  skip,
}, async (t) => {
  const { url } = await cluster.database()
  const store = await storeAt(t, url)
  await store.set('key', 'value')
  const fails = (work: () => Promise<unknown>) =>
    took(() => assert.rejects(work(), { code: 'DATABASE_UNAVAILABLE', statusCode: 503 }))
  cluster.pause()
  // The margins are for a busy machine; without a limit these would wait for ever.
  assert.ok((await fails(() => store.get('key'))) < 4_000)
  assert.ok((await fails(() => store.set('key', 'x'))) < 12_000)
  assert.ok((await fails(() => store.locked('key', async () => {}))) < 12_000)
  cluster.resume()
  await cluster.stop()
  await fails(() => store.get('key'))
  await cluster.start()
  await eventually(() => store.get('key').catch(() => undefined))
})
