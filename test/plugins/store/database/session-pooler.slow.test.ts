import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { ConfigError } from 'sallyport'
import { eventually } from '#kit/captured-log.js'
import { noPooler, PostgresCluster } from '#kit/postgres.js'
import { asking, opening, started } from './opening.js'

const cluster = new PostgresCluster()
const skip = noPooler ?? false

test('behind a pooler in transaction mode, locks and notifications use directUrl', { skip }, async (t) => {
  const test = await cluster.database()
  const url = await cluster.pooler(test)
  const [a, b] = [
    await started(t, { url, directUrl: test.url }),
    await started(t, { url, directUrl: test.url }),
  ]
  let woken = 0
  a.database.listen('topic', () => void woken++)
  await eventually(() => woken > 0)
  let inside = 0
  const work = async () => {
    assert.equal(++inside, 1)
    await b.database.transaction(async (statements) => {
      await statements.query('select pg_sleep(0.01)')
      await b.database.notify(statements, 'topic')
    })
    inside--
  }
  const before = woken
  await Promise.all([a, b, a, b].map(({ database }) => database.locked('key', work)))
  await eventually(() => woken > before)
  // No setting of one statement is left for others.
  const [row] = await asking(a.database, 'select current_setting($1) as path', ['search_path'])
  assert.deepEqual(row, { path: 'sallyport' })
})

test('without directUrl such a pooler is refused at the start, and no lock is held over it', {
  skip,
}, async (t) => {
  const test = await cluster.database()
  await started(t, { url: test.url })
  const { database } = await opening(t, { url: await cluster.pooler(test) })
  await assert.rejects(
    database.start(),
    (error) => error instanceof ConfigError && /expected in `directUrl`/.test(error.message),
  )
  await assert.rejects(
    database.locked('key', async () => {}),
    ConfigError,
  )
})

test('without directUrl a pooler that rotates open connections is refused too', { skip }, async (t) => {
  const test = await cluster.database()
  await started(t, { url: test.url })
  for (const warm of [2, 3, 4]) {
    const url = await cluster.pooler(test, { server_round_robin: 1, default_pool_size: warm })
    const { database } = await opening(t, { url })
    await Promise.all(Array.from({ length: warm }, () => asking(database, 'select pg_sleep(0.2)')))
    await assert.rejects(
      database.locked('key', async () => {}),
      ConfigError,
    )
  }
})

test('when a pooler changes to transaction mode the session ends, and no other client gets a lock', {
  skip,
}, async (t) => {
  const test = await cluster.database()
  const url = await cluster.pooler(test, { pool_mode: 'session', admin_users: test.name })
  const { database } = await started(t, { url })
  await database.locked('key', async () => {})
  const connected = async (to: string) => {
    const client = new pg.Client(to)
    await client.connect()
    t.after(() => client.end())
    return client
  }
  const console = await connected(url.replace(/[^/]+$/, 'pgbouncer'))
  await console.query("set pool_mode = 'transaction'")
  // It has the connection that was the one of the locks.
  await database.locked('key', async () => {})
  const others = await Promise.all([connected(url), connected(url)])
  for (const other of others) await other.query('begin')
  await assert.rejects(
    database.locked('key', async () => {}),
    ConfigError,
  )
  assert.deepEqual(await test.query(`select from pg_locks where locktype = 'advisory'`), [])
})
