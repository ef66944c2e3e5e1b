import assert from 'node:assert/strict'
import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { entriesOf } from 'sallyport/embed'
import { migrateAll } from '#cli/commands/migrate/run.js'
import { planOf } from '#cli/config/all-problems.js'
import { readList } from '#cli/config/read-list.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { noPostgres, PASSWORD, PostgresCluster } from '#kit/postgres.js'
import { cli, program, testIo } from '#kit/program.js'
import { startedProgram } from '#kit/started-program.js'

/** A third party's plugin whose table is a file. */
const levelled = `
import { existsSync, writeFileSync } from 'node:fs'
import { ConfigError, definePlugin } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'levelled',
  api: 1,
  options: z.strictObject({
    file: z.string(),
    password: z.string().meta({ writeOnly: true }).optional(),
    does: z.enum(['fail', 'hang', 'refuse']).optional(),
  }),
  setup() {
    throw new Error('it was set up')
  },
  async migrate({ path, signal }, { file, password, does }) {
    const table = path(file)
    if (does === 'refuse') throw new ConfigError([{ place: 'file', message: 'its level 9 is newer than this program' }])
    if (does === 'fail') {
      // It leaves something open that would keep the process.
      setInterval(() => {}, 1000)
      throw new Error('permission denied for ' + password)
    }
    if (does === 'hang') {
      writeFileSync(path('waiting'), '')
      await new Promise(() => {})
    }
    if (existsSync(table)) return []
    writeFileSync(table, '')
    return ['created ' + file, 'now at level 1 as ' + password]
  },
})
`

const entry = (id: string, options: object = {}) => ({
  use: './levelled.mjs',
  id,
  with: { file: `${id}.table`, ...options },
})

const root = join(import.meta.dirname, '../../../..')

function home(t: TestContext, list: unknown): string {
  const place = folder(t, { 'levelled.mjs': levelled, 'gateway.json': JSON.stringify(list) })
  mkdirSync(join(place, 'node_modules'))
  symlinkSync(join(root, 'node_modules/zod'), join(place, 'node_modules/zod'))
  return join(place, 'gateway.json')
}

const migrated = (t: TestContext, file: string) => cli(t, ['migrate', '--config', file])

test('migrate calls every plugin with a database, in preset files and scopes too; a second run does nothing', async (t) => {
  const proxy = home(t, { targetUri: 'http://127.0.0.1:9/', plugins: [entry('first')] })
  const once = await migrated(t, proxy)
  assert.deepEqual([once.code, once.stderr], [0, ''])
  assert.equal(once.stdout, 'first: created first.table\nfirst: now at level 1 as undefined\n')
  const list = home(t, [
    entry('first', { password: 'correct horse' }),
    { scope: '/a', plugins: [entry('second')] },
  ])
  const all = await migrated(t, list)
  assert.deepEqual([all.code, all.stderr], [0, ''])
  assert.deepEqual(all.stdout.split('\n'), [
    'first: created first.table',
    'first: now at level 1 as ***',
    'second: created second.table',
    'second: now at level 1 as undefined',
    '',
  ])
  const twice = await migrated(t, list)
  assert.deepEqual([twice.code, twice.stdout], [0, 'first: nothing to do\nsecond: nothing to do\n'])
})

test('for a file in which no plugin has a database migrate says so', async (t) => {
  const { code, stdout, stderr } = await migrated(t, home(t, { auth: { mode: 'anonymous' } }))
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /nothing to do\n$/)
})

test('a wrong option of one plugin is reported at its place, and the others still migrate', async (t) => {
  const file = home(t, [entry('first', { does: 'refuse' }), entry('second')])
  const { code, stdout, stderr } = await migrated(t, file)
  assert.equal(code, 2)
  assert.match(
    stderr,
    /^\S+gateway\.json:1:\d+ \S+\.file \(first\): its level 9 is newer than this program\n$/,
  )
  assert.equal(stdout.split('\n')[0], 'second: created second.table')
})

test('a failing step ends migrate with 1, without a secret or a stack, and the next plugin is not called', async (t) => {
  const file = home(t, [entry('first', { does: 'fail', password: 'correct horse' }), entry('second')])
  const migrating = startedProgram(t, ['migrate', '--config', file])
  assert.equal(await migrating.ended(), 1)
  const { stdout, stderr } = migrating.output
  assert.equal(stdout, '')
  assert.match(stderr, /^sallyport: plugin "first" failed in migrate: permission denied for \*\*\*/)
  assert.equal(stderr.split('\n').length, 2)
})

test('a wrong file ends with 2, and no plugin is called', async (t) => {
  const { code, stdout, stderr } = await migrated(t, home(t, [entry('first', { odd: true })]))
  assert.deepEqual([code, stdout], [2, ''])
  assert.match(stderr, /gateway\.json:1:\d+ .*odd/)
})

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  test(`${signal} ends migrate while a plugin waits`, async (t) => {
    const file = home(t, [entry('first', { does: 'hang' })])
    const migrating = program(t, ['migrate', '--config', file])
    await eventually(() => existsSync(join(dirname(file), 'waiting')))
    migrating.stop(signal)
    assert.equal(await migrating.ended(), 1)
    assert.match(migrating.output.stderr, new RegExp(`^sallyport: stopped by ${signal}`))
  })

/** The same without a process of its own. */
async function migratedHere(file: string, timeout?: number) {
  const planned = await planOf(await readList(file, process.env))
  assert.ok('plan' in planned, JSON.stringify(planned))
  const { io, output } = testIo()
  const { signal } = new AbortController()
  const circumstances = {
    folder: dirname(file),
    debug: false,
    io,
    signal,
    ...(timeout !== undefined && { timeout }),
  }
  const code = await migrateAll(entriesOf(planned.plan), circumstances)
  return { code, ...output }
}

test('migrate stops waiting for a plugin that never finishes', async (t) => {
  const { code, stderr } = await migratedHere(
    home(t, [entry('first', { does: 'hang' }), entry('second')]),
    50,
  )
  assert.equal(code, 1)
  assert.match(stderr, /plugin "first" failed in migrate: it did not finish within 0\.05 s/)
})

test('PostgreSQL: the tables are created once, and failures are reported with advice, never with a password', {
  skip: noPostgres,
}, async (t) => {
  const cluster = new PostgresCluster()
  const database = await cluster.database()
  const passphrase = 'a passphrase'
  const both = (url: string, more: object = {}) => [
    { use: 'store/postgres', with: { url, ...more } },
    { use: 'state/postgres', with: { url, passphrase, ...more } },
  ]
  const outcomeOf = async (list: readonly object[]) => {
    const { code, stdout, stderr } = await migratedHere(home(t, list))
    for (const text of [stdout, stderr])
      for (const secret of [PASSWORD, encodeURIComponent(PASSWORD), passphrase])
        assert.ok(!text.includes(secret), text)
    assert.doesNotMatch(stderr, /^ {4}at /m)
    return [code, stdout, stderr] as const
  }

  const once = await outcomeOf(both(database.url))
  assert.deepEqual([once[0], once[2]], [0, ''])
  assert.match(once[1], /^store\/postgres: schema sallyport: .+\nstate\/postgres: nothing to do\n$/)
  assert.deepEqual(await outcomeOf(both(database.url)), [
    0,
    'store/postgres: nothing to do\nstate/postgres: nothing to do\n',
    '',
  ])

  const [withoutRights, , advice] = await outcomeOf(
    both(database.urlOf(await database.role()), { schema: 'another' }).slice(0, 1),
  )
  assert.equal(withoutRights, 2)
  assert.match(advice, /may not create the schema/)
  await database.query('create schema hidden')
  const [hidden, , whom] = await outcomeOf(both(database.url, { schema: 'hidden' }).slice(0, 1))
  assert.equal(hidden, 2)
  assert.match(whom, /may not create the schema or its tables/)
  await database.query('create schema theirs; create table theirs.version (id int)')
  await database.query(`grant all on schema theirs to ${database.name}`)
  const [foreign, , whose] = await outcomeOf(both(database.url, { schema: 'theirs' }))
  assert.equal(foreign, 2)
  assert.match(whose, /another `schema`/)
  await database.query('update sallyport.schema_level set level = level + 1, readable_by = level + 1')
  const [newer, , which] = await outcomeOf(both(database.url))
  assert.equal(newer, 2)
  assert.match(which, /newer version of sallyport/)

  await database.query('delete from sallyport.schema_level')
  const [emptied, , what] = await outcomeOf(both(database.url).slice(0, 1))
  assert.equal(emptied, 2)
  assert.match(what, /schema_level has lost its row/)

  cluster.pause()
  const [silent, , why] = await outcomeOf(both(database.url))
  cluster.resume()
  assert.equal(silent, 1)
  assert.match(why, /^sallyport: plugin "store\/postgres" failed in migrate: the database cannot be used/)

  const none = await migrated(t, home(t, both(`http://user:${encodeURIComponent(PASSWORD)}@127.0.0.1/`)))
  assert.equal(none.code, 2)
  assert.match(none.stderr, /expected a URL such as postgres:/)
  assert.ok(!none.stderr.includes(encodeURIComponent(PASSWORD)))
})
