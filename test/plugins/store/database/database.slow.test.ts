import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { noPostgres, PostgresCluster } from '#kit/postgres.js'
import { STATEMENT_LIMIT } from '#plugins/store/database/transaction.js'
import { asking, started } from './opening.js'

const cluster = new PostgresCluster()
const skip = noPostgres ?? false
const put = (value: string) => ['insert into state (key, value) values ($1, $2)', [value, value]] as const

test('a transaction commits all of its statements, or none when it throws', { skip }, async (t) => {
  const { database } = await started(t, { url: (await cluster.database()).url })
  assert.deepEqual(await asking(database, 'select 1::bigint as one'), [{ one: 1 }])
  await database.transaction(({ query }) => query(...put('a')))
  const failing = database.transaction(async ({ query }) => {
    await query(...put('b'))
    throw new Error('mine')
  })
  await assert.rejects(failing, /mine/)
  await assert.rejects(asking(database, ...put('a')), { code: 'DATABASE_CONFLICT' })
  const swallowing = database.transaction(async ({ query }) => {
    await query(...put('c'))
    await query('nonsense').catch(() => {})
  })
  await assert.rejects(swallowing, /did not commit/)
  assert.equal((await asking(database, 'select from state')).length, 1)
  assert.deepEqual(database.health(), { status: 'ok' })
})

test('a connection that was given back is measured as idle', { skip }, async (t) => {
  const { database, measured } = await started(t, { url: (await cluster.database()).url })
  await asking(database, 'select 1')
  const isState = (state: string) => (each: (typeof measured)[number]) =>
    JSON.stringify(each.labels) === JSON.stringify({ state })
  const last = (state: string) => measured.findLast(isState(state))?.value
  await eventually(() => last('in use') === 0)
  assert.equal(last('idle'), 1)
})

test('a stopped server or ended connections give 503, and the database recovers', {
  skip,
}, async (t) => {
  const test = await cluster.database()
  const { database, lines } = await started(t, { url: test.url })
  await Promise.all([asking(database, 'select 1'), asking(database, 'select 2')])
  assert.ok((await cluster.terminateBackends(test)) >= 2)
  await eventually(() =>
    asking(database, 'select 1').then(
      () => true,
      () => false,
    ),
  )

  await cluster.stop()
  await assert.rejects(asking(database, 'select 1'), {
    code: 'DATABASE_UNAVAILABLE',
    statusCode: 503,
    retryAfter: 5,
  })
  assert.equal(database.health().status, 'degraded')
  await cluster.start()
  await eventually(() => database.health().status === 'ok')
  assert.doesNotMatch(JSON.stringify(lines), /pass-of/)
})

test('a suspended server delays no caller longer than the limit, in and before a transaction', {
  skip,
}, async (t) => {
  const { database } = await started(t, { url: (await cluster.database()).url })
  await asking(database, 'select 1')
  const before = performance.now()
  const open = database.transaction(async ({ query }) => {
    await query('select 1')
    cluster.pause()
    await query('select 1')
  })
  await assert.rejects(open, { code: 'DATABASE_UNAVAILABLE' })
  assert.ok(performance.now() - before >= STATEMENT_LIMIT - 100)
  for (let round = 0; round < 3; round++)
    await assert.rejects(asking(database, 'select 1', [], { limit: 500 }), /did not answer in time/)
  cluster.resume()
  await eventually(() => database.health().status === 'ok')
})
