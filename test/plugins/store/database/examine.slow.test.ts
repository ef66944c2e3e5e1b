import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Examination } from 'sallyport'
import { noPooler, noPostgres, PostgresCluster } from '#kit/postgres.js'
import { examineDatabase } from '#plugins/store/database/examine.js'
import { databaseOptions } from '#plugins/store/database/options.js'
import { started } from './opening.js'

const cluster = new PostgresCluster()
const skip = noPostgres ?? false

/** What it reports, as `ok schema`, or `wrong locks DATABASE_POOLER`, each with its detail. */
async function findings(options: object): Promise<string[]> {
  const found: string[] = []
  const examination = {
    path: (path: string) => path,
    ok: (check: string, detail: string) => found.push(`ok ${check}: ${detail}`),
    warning: (check: string, code: string, detail: string, advice: string) =>
      found.push(`warning ${check} ${code}: ${detail}; ${advice}`),
    wrong: (check: string, code: string, detail: string, advice: string) =>
      found.push(`wrong ${check} ${code}: ${detail}; ${advice}`),
  } as unknown as Examination
  await examineDatabase(examination, databaseOptions.parse(options))
  assert.doesNotMatch(found.join('\n'), /pass-of/)
  return found
}

const heads = (found: readonly string[]) => found.map((line) => line.split(':')[0])

test('the examination accepts a good database, and reports one without tables', { skip }, async (t) => {
  const { url, name, query } = await cluster.database()
  const good = ['ok database', 'ok clock']
  const missing = await findings({ url })
  assert.deepEqual(heads(missing), [...good, 'wrong schema DATABASE_NOT_MIGRATED', 'ok locks'])
  assert.match(missing.join('\n'), /run `sallyport migrate --config FILE`/)
  assert.deepEqual(heads(await findings({ url, migrate: true })), [
    ...good,
    'warning schema DATABASE_NOT_MIGRATED',
    'ok locks',
  ])
  await started(t, { url })
  assert.deepEqual(heads(await findings({ url })), [...good, 'ok schema', 'ok locks'])
  await query(`alter database ${name} set default_transaction_read_only = on`)
  const found = await findings({ url })
  assert.deepEqual(heads(found), [...good, 'wrong writes DATABASE_REFUSES_WRITES', 'ok schema', 'ok locks'])
})

test('the examination reports missing rights, a newer level, and the schema of another program', {
  skip,
}, async (t) => {
  const test = await cluster.database()
  await started(t, { url: test.url })
  const role = await test.role()
  assert.match(
    (await findings({ url: test.urlOf(role) })).join('\n'),
    /wrong schema DATABASE_UNUSABLE: .* may not use the table/,
  )
  await test.query('update sallyport.schema_level set level = 9')
  assert.match((await findings({ url: test.url })).join('\n'), /ok schema: level 9 .* and can use it/)
  await test.query('update sallyport.schema_level set readable_by = 9')
  assert.match(
    (await findings({ url: test.url })).join('\n'),
    /wrong schema DATABASE_UNUSABLE: .*newer version/,
  )
  await test.query('alter table sallyport.schema_level rename column level to other')
  assert.match(
    (await findings({ url: test.url })).join('\n'),
    /wrong schema DATABASE_UNUSABLE: .*not of sallyport/,
  )
})

test('a pooler in transaction mode is found, with and without directUrl', {
  skip: noPooler ?? false,
}, async (t) => {
  const test = await cluster.database()
  await started(t, { url: test.url })
  const url = await cluster.pooler(test)
  const found = await findings({ url })
  assert.match(found.at(-1) ?? '', /^wrong locks DATABASE_POOLER: .*directUrl/)
  assert.match((await findings({ url, directUrl: test.url })).at(-1) ?? '', /^ok locks/)
})

test('the examination reports a server that is away, refuses the password, or has another clock', {
  skip,
}, async (t) => {
  const test = await cluster.database()
  const wrongPassword = test.url.replace(/:[^:@]+@/, ':wrong@')
  assert.match(
    (await findings({ url: wrongPassword })).join('\n'),
    /^wrong database DATABASE_UNAVAILABLE: .*refused the user or the password/,
  )
  assert.match(
    (await findings({ url: 'postgres://u@127.0.0.1:1/d' })).join('\n'),
    /^wrong database DATABASE_UNAVAILABLE: .*nothing listens/,
  )
  const now = Date.now()
  t.mock.method(Date, 'now', () => now + 60_000)
  assert.match(
    (await findings({ url: test.url })).join('\n'),
    /warning clock DATABASE_CLOCK: its clock is \d\d s behind/,
  )
})
