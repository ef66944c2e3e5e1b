import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from 'sallyport'
import { eventually } from '#kit/captured-log.js'
import { noPostgres, PostgresCluster } from '#kit/postgres.js'
import { migrateDatabase } from '#plugins/store/database/migrate.js'
import { databaseOptions } from '#plugins/store/database/options.js'
import { LEVEL } from '#plugins/store/database/tables.js'
import { asking, opening, started } from './opening.js'

const cluster = new PostgresCluster()
const skip = noPostgres ?? false

const migrate = (url: string, signal = AbortSignal.timeout(30_000)) =>
  migrateDatabase(databaseOptions.parse({ url }), (path) => path, signal)

/** The message with which it refuses to start. */
async function refusal(starting: Promise<unknown>): Promise<string> {
  const error = await starting.then(
    () => assert.fail('it started'),
    (error: unknown) => error,
  )
  assert.ok(error instanceof ConfigError, String(error))
  assert.doesNotMatch(error.message, /pass-of/)
  return error.message
}

test('migrating creates the tables once, also when several do it at once', { skip }, async () => {
  const { url, query } = await cluster.database()
  const done = (await Promise.all([migrate(url), migrate(url), migrate(url)])).flat()
  assert.deepEqual(done, ['schema sallyport: created the tables (level 1)'])
  assert.deepEqual(await migrate(url), [])
  assert.deepEqual(await query('select level, readable_by from sallyport.schema_level'), [
    { level: LEVEL, readable_by: 1 },
  ])
})

test('a start without tables is down until somebody migrates', { skip }, async (t) => {
  const { url } = await cluster.database()
  const { database } = await opening(t, { url })
  await database.start()
  assert.equal(database.health().status, 'down')
  assert.match(database.health().reason ?? '', /run `sallyport migrate --config FILE`/)
  await assert.rejects(asking(database, 'select from state'), {
    code: 'DATABASE_NOT_MIGRATED',
    statusCode: 503,
  })
  await migrate(url)
  await eventually(() => database.health().status === 'ok')
})

test('tables that are lost while it runs leave it degraded until they are there again', {
  skip,
}, async (t) => {
  const { url, query } = await cluster.database()
  await migrate(url)
  const { database } = await opening(t, { url })
  await database.start()
  await query('drop schema sallyport cascade')
  await assert.rejects(asking(database, 'select from state'), { code: 'DATABASE_NOT_MIGRATED' })
  assert.equal(database.health().status, 'degraded')
  assert.match(database.health().reason ?? '', /run `sallyport migrate --config FILE`/)
  // Checked once more, it is still what this process can go on without.
  await database.start()
  assert.equal(database.health().status, 'degraded')
  await migrate(url)
  await eventually(() => database.health().status === 'ok')
})

test('a start while the server is away is degraded until it is there, and migrates then', {
  skip,
}, async (t) => {
  const { url } = await cluster.database()
  await cluster.stop()
  const { database } = await started(t, { url })
  assert.match(database.health().reason ?? '', /nothing listens there/)
  await cluster.start()
  await eventually(() => database.health().status === 'ok')
  assert.deepEqual(await asking(database, 'select from state'), [])
})

test('a level that this version cannot use is refused; one that it can is used, also while it runs', {
  skip,
}, async (t) => {
  const test = await cluster.database()
  const { url, query } = test
  const { database } = await started(t, { url })
  await query('update sallyport.schema_level set level = 99')
  await query('alter table sallyport.state add column more text')
  await asking(database, "insert into state (key, value) values ('a', 'b')")
  const other = await started(t, { url })
  assert.equal((await asking(other.database, 'select from state')).length, 1)
  assert.deepEqual(await migrate(url), [])

  await query('update sallyport.schema_level set readable_by = 99')
  assert.match(
    await refusal(started(t, { url })),
    /newer version of sallyport \(level 99; this version knows/,
  )
  assert.match(await refusal(migrate(url)), /newer version/)
  // Also one that was good when this one started, as soon as there is a reason to look.
  await cluster.terminateBackends(test)
  await eventually(() => /newer version/.test(database.health().reason ?? ''))
  assert.equal(database.health().status, 'down')
  await asking(database, 'select from state')
  assert.equal(database.health().status, 'down')
  await query('update sallyport.schema_level set readable_by = 1')
  await eventually(() => database.health().status === 'ok')
})

test('the database is checked now and then, also while it is healthy', { skip }, async (t) => {
  const { url, query } = await cluster.database()
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { database } = await started(t, { url })
  await query('update sallyport.schema_level set readable_by = 99')
  t.mock.timers.tick(60_000)
  t.mock.timers.reset()
  await eventually(() => database.health().status === 'down')
})

test('a database that can only be read is degraded until it takes writes, and says so once', {
  skip,
}, async (t) => {
  const test = await cluster.database()
  const { url, name, query } = test
  const { database, lines } = await started(t, { url })
  const write = () => asking(database, "insert into state (key, value) values ('a', 'b') returning key")
  const setReadOnly = async (value: string) => {
    await query(`alter role ${name} set default_transaction_read_only = ${value}`)
    await cluster.terminateBackends(test)
  }
  const saidNo = () => lines.filter(({ reason }) => /can only be read/.test(String(reason)))
  await setReadOnly('on')
  await eventually(() => /can only be read/.test(database.health().reason ?? ''))
  for (let round = 0; round < 3; round++) {
    await asking(database, 'select from state')
    assert.equal(database.health().status, 'degraded')
  }
  await setReadOnly('off')
  await eventually(() => database.health().status === 'ok')
  assert.equal(saidNo().length, 1)

  await setReadOnly('on')
  await eventually(() =>
    write().then(
      () => false,
      ({ code, statusCode }) => code === 'DATABASE_REFUSES_WRITES' && statusCode === 503,
    ),
  )
  await setReadOnly('off')
  // What can be read says nothing of what can be written.
  await eventually(() => asking(database, 'select from state').catch(() => undefined))
  assert.equal(database.health().status, 'degraded')
  await eventually(() => write().catch(() => undefined))
  assert.equal(database.health().status, 'ok')
  // Under a lock it counts too.
  await setReadOnly('on')
  const locked = () =>
    database.locked('key', ({ transaction }) =>
      transaction(({ query }) => query("delete from state where key = 'a'")),
    )
  await eventually(() =>
    locked().then(
      () => undefined,
      (error) => error.code === 'DATABASE_REFUSES_WRITES',
    ),
  )
  await setReadOnly('off')
  await eventually(() => asking(database, 'select from state').catch(() => undefined))
  assert.equal(database.health().status, 'degraded')
  await eventually(() =>
    locked().then(
      () => true,
      () => undefined,
    ),
  )
  assert.equal(database.health().status, 'ok')
})

test('a process that waited to migrate sees the finished migration, at any isolation level', {
  skip,
}, async () => {
  const { url, name, query } = await cluster.database()
  await query(`alter role ${name} set default_transaction_isolation = serializable`)
  assert.equal((await Promise.all([migrate(url), migrate(url), migrate(url)])).flat().length, LEVEL)
})

test('the schema of another program is refused, and left unchanged', { skip }, async (t) => {
  const { url, query } = await cluster.database()
  await query('create schema sallyport create table sallyport.state (id integer)')
  for (const starting of [
    () => started(t, { url }),
    () => opening(t, { url }).then(({ database }) => database.start()),
    () => migrate(url),
  ])
    assert.match(
      await refusal(starting()),
      /schema sallyport: it has a table state that is not of sallyport: give another/,
    )
  assert.equal(
    (await query('select from information_schema.columns where table_schema = $1', ['sallyport'])).length,
    1,
  )
  await started(t, { url, schema: 'mine' })

  const half = await cluster.database()
  await migrate(half.url)
  await half.query('alter table sallyport.version drop column document')
  assert.match(await refusal(started(t, { url: half.url })), /a table version that is not/)
})

test('missing rights are named; select, insert, update and delete are enough', { skip }, async (t) => {
  const test = await cluster.database()
  const role = await test.role()
  const url = test.urlOf(role)
  assert.match(await refusal(started(t, { url })), new RegExp(`the user ${role} may not create the schema`))
  await migrate(test.url)
  assert.match(
    await refusal(started(t, { url })),
    new RegExp(`the user ${role} may not use the table .*grants them`),
  )
  await test.query(`grant usage on schema sallyport to ${role}`)
  await test.query(`grant select, insert, update on all tables in schema sallyport to ${role}`)
  assert.match(await refusal(started(t, { url })), /delete on its tables/)
  await test.query(`grant delete on all tables in schema sallyport to ${role}`)
  const { database } = await started(t, { url })
  assert.deepEqual(database.health(), { status: 'ok' })
})

test('migrating gives up on a server that is silent or away, without the password', { skip }, async () => {
  const { url } = await cluster.database()
  cluster.pause()
  await assert.rejects(migrate(url), { code: 'DATABASE_UNAVAILABLE', message: /did not answer in time/ })
  cluster.resume()
  await assert.rejects(migrate(url, AbortSignal.abort(new Error('enough'))), /enough/)
})
