import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { eventually } from '#kit/captured-log.js'
import { noPostgres, PostgresCluster } from '#kit/postgres.js'
import { Connector } from '#plugins/store/database/connector.js'
import { Locks } from '#plugins/store/database/locks.js'
import { databaseOptions } from '#plugins/store/database/options.js'
import { Session } from '#plugins/store/database/session.js'
import { asking, started } from './opening.js'

const cluster = new PostgresCluster()
const skip = noPostgres ?? false

test('one caller at a time holds a lock, in all processes, also with nested locks', { skip }, async (t) => {
  const { url } = await cluster.database()
  const [a, b] = [(await started(t, { url })).database, (await started(t, { url })).database]
  let [inside, most, done] = [0, 0, 0]
  const work = async (): Promise<void> => {
    most = Math.max(most, ++inside)
    await setTimeout(1)
    inside--
    done++
  }
  // Twenty nested locks in each, over a pool of four connections.
  const nested = (database: typeof a, name: string) =>
    Array.from({ length: 20 }, (_, index) =>
      database.locked(`${name}-${index}`, () => database.locked('shared', work)),
    )
  await Promise.all([...nested(a, 'a'), ...nested(b, 'b')])
  assert.deepEqual([most, done], [1, 40])
  await assert.rejects(
    a.locked('shared', () => Promise.reject(new Error('mine'))),
    /mine/,
  )
  assert.equal(await b.locked('shared', async () => 7), 7)
})

test('locks of two schemas of a database are independent', { skip }, async (t) => {
  const { url } = await cluster.database()
  const [a, b] = [await started(t, { url }), await started(t, { url, schema: 'other' })]
  await a.database.locked('key', () => b.database.locked('key', async () => {}))
})

test('a lock that is lost ends its signal, fails its writes, and is not lost twice', { skip }, async (t) => {
  const test = await cluster.database()
  const [a, b] = [await started(t, { url: test.url }), await started(t, { url: test.url })]
  const put = (name: string) => `insert into state (key, value) values ('${name}', '')`
  await a.database.locked('key', async (lock) => {
    await lock.transaction(({ query }) => query(put('first')))
    // Within a transaction: what it wrote is not there.
    const open = lock.transaction(async ({ query }) => {
      await query(put('second'))
      await cluster.terminateBackends(test)
      await query(put('third'))
    })
    await assert.rejects(open, { code: 'DATABASE_UNAVAILABLE' })
    assert.equal(lock.signal.aborted, true)
    // Another process has it now, and so nothing can be written here.
    await b.database.locked('key', async (other) => {
      await assert.rejects(
        lock.transaction(({ query }) => query(put('late'))),
        { code: 'DATABASE_LOCK_LOST' },
      )
      await other.transaction(({ query }) => query(put('other')))
    })
  })
  const rows = await asking<{ key: Buffer }>(a.database, 'select key from state order by key')
  assert.deepEqual(
    rows.map(({ key }) => key.toString()),
    ['first', 'other'],
  )
  assert.ok(
    a.measured.some(({ name, labels }) => /lost/.test(name) && JSON.stringify(labels) === '{"use":"locks"}'),
  )
  assert.equal(await a.database.locked('key', async () => 'again'), 'again')
})

test('one process leads; when it ends, steps down or loses its connection, another leads', {
  skip,
}, async (t) => {
  const test = await cluster.database()
  const { url } = test
  const leading = new Set<string>()
  const lead = async (name: string) => {
    const { database } = await started(t, { url })
    const stepDown = database.lead('source', ({ signal }) => {
      assert.deepEqual([...leading], [])
      leading.add(name)
      signal.addEventListener('abort', () => leading.delete(name))
    })
    return { database, stepDown }
  }
  const a = await lead('a')
  await eventually(() => leading.has('a'))
  const b = await lead('b')
  await cluster.terminateBackends(test, "query like '%pg_backend_pid%'")
  await eventually(() => leading.size === 0)
  await eventually(() => leading.size === 1)
  const [first, second] = leading.has('a') ? [a, b] : [b, a]
  await first.stepDown()
  await eventually(() => leading.size === 1)
  await second.stepDown()
  assert.equal(leading.size, 0)
  assert.equal(await first.database.locked('source', async () => 'free'), 'free')
})

test('while the server is away, no caller waits for a lock', { skip }, async (t) => {
  const { database } = await started(t, { url: (await cluster.database()).url })
  await database.locked('key', async () => {})
  await cluster.stop()
  const attempts = Array.from({ length: 5 }, () =>
    assert.rejects(
      database.locked('key', async () => {}),
      { code: 'DATABASE_UNAVAILABLE' },
    ),
  )
  await Promise.all(attempts)
  await cluster.start()
  assert.equal(
    await eventually(() => database.locked('key', async () => 'again').catch(() => undefined)),
    'again',
  )
})

/** Locks whose connection is opened as `open` says. */
async function locksOf(t: TestContext, open: (session: () => Promise<Session>) => Promise<Session>) {
  const { url } = await cluster.database()
  const log = { info: () => {}, warn: () => {} }
  const connector = await Connector.open(databaseOptions.parse({ url }), { log, path: (path) => path })
  const count = { lost: 0 }
  const locks = new Locks({
    schema: 'sallyport',
    open: () => open(() => Session.open(connector, 'sallyport')),
    lost: () => void count.lost++,
    log,
  })
  t.after(async () => {
    await locks.close()
    connector.close()
  })
  return { locks, count }
}

test('a connection that ends before its first use is replaced', { skip }, async (t) => {
  let opened = 0
  const { locks, count } = await locksOf(t, async (open) => {
    const session = await open()
    if (++opened === 1) session.end()
    return session
  })
  assert.equal(await locks.locked('key', async () => 7), 7)
  assert.deepEqual([opened, count.lost], [2, 1])
})

test('a process that steps down while it gets the lock does not lead, and releases the lock', {
  skip,
}, async (t) => {
  let stepDown = async (): Promise<void> => {}
  let done: Promise<void> | undefined
  const { locks } = await locksOf(t, (open) => {
    done ??= stepDown()
    return open()
  })
  let led = 0
  stepDown = locks.lead('key', () => void led++)
  await eventually(() => done !== undefined)
  await done
  assert.equal(led, 0)
  assert.equal(await locks.locked('key', async () => 'free'), 'free')
})

test('a suspended holder loses its lock, and a waiting process logs that it waits', { skip }, async (t) => {
  const { url } = await cluster.database()
  const { database, lines } = await started(t, { url })
  const holder = fork(new URL('./holder.js', import.meta.url), [url])
  t.after(() => holder.kill('SIGKILL'))
  await once(holder, 'message')
  holder.kill('SIGSTOP')
  const got = await Promise.race([
    database.locked('key', async () => 'got'),
    setTimeout(60_000, 'waits', { ref: false }),
  ])
  assert.equal(got, 'got')
  const waiting = lines.filter(({ msg }) => /waiting for a lock/.test(String(msg)))
  assert.deepEqual(
    waiting.map(({ lock }) => lock),
    ['key'],
  )
})
