import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import type { FetchResult } from 'sallyport'
import { booted } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { noPostgres, PostgresCluster, type TestDatabase } from '#kit/postgres.js'
import {
  BASE,
  internalRoutes,
  payload,
  registryOf,
  server,
  sourcePlugin,
} from '../plugins/registry/registry.js'
import { commandsIn } from './homes.js'
import { blocks } from './pages.js'

const PAGE = 'plugins/store/README.md'
const run = promisify(execFile)
const [backup, restore, ...others] = commandsIn(PAGE).filter((line) => line.startsWith('pg_'))

/** A server with a database, with the users that the page makes. */
async function asInThePage() {
  const database = await new PostgresCluster().database()
  await database.query(blocks(PAGE, 'sql')[0]?.text ?? '')
  return database
}

const urlOf = ({ url }: TestDatabase, username: string): string =>
  Object.assign(new URL(url), { username, password: 'change-me' }).href

const storeOf = (url: string, migrate = false) => ({
  use: 'store/postgres',
  with: { url, migrate, directory: null },
})

const rowsIn = (database: TestDatabase) =>
  database.query(
    `select (select count(*) from sallyport.version where document is not null) as documents,
       (select array_agg(convert_from(key, 'utf8')) from sallyport.state) as logins`,
  )

/** Two replicas of a registry over one source. */
async function replicasOf(t: TestContext, url: string, fetch: () => FetchResult) {
  const source = sourcePlugin('main', async () => fetch())
  const list = [storeOf(url), ...registryOf([source], ['main']), internalRoutes]
  const apps = [await booted(t, list), await booted(t, list)]
  return {
    sync: () => Promise.all(apps.map((app) => app.inject({ method: 'POST', url: '/internal/sync/main' }))),
    serve: (howMany: number) =>
      eventually(async () => {
        const pages = await Promise.all(apps.map((app) => app.inject(BASE)))
        const [body, ...more] = pages.map((page) => page.body)
        return more.every((each) => each === body) && body?.includes(`"count":${howMany}}`)
      }, 30),
  }
}

const whole = (...names: string[]): FetchResult => ({
  kind: 'whole',
  payloads: [payload(names.map((name) => server(`com.example/${name}`, '1.0.0')))],
})

test('the commands of the page restore a backup under running replicas, and into a new server', {
  skip: noPostgres,
}, async (t) => {
  assert.deepEqual(others, [])
  const home = folder(t)
  const { PATH } = process.env
  const shell = (database: TestDatabase, command = '') =>
    run('sh', ['-c', command], {
      cwd: home,
      env: { PATH, DATABASE_URL: urlOf(database, 'sallyport_owner') },
    })
  const database = await asInThePage()
  await booted(t, [storeOf(urlOf(database, 'sallyport_owner'), true)])

  let result = whole('notes')
  const replicas = await replicasOf(t, urlOf(database, 'sallyport'), () => result)
  await replicas.serve(1)
  await database.query(`insert into sallyport.state (key, value) values ('login', 'x')`)
  await shell(database, backup)
  const saved = await rowsIn(database)
  result = whole('notes', 'mail')
  await replicas.sync()
  await replicas.serve(2)
  await database.query('delete from sallyport.state')
  result = { kind: 'unchanged' }

  const later = await rowsIn(database)
  await database.query('create table sallyport.newer (source integer references sallyport.source_state)')
  await assert.rejects(shell(database, restore), /sallyport\.newer/)
  assert.deepEqual(await rowsIn(database), later)
  await database.query('drop table sallyport.newer')

  await shell(database, restore)
  assert.deepEqual(await rowsIn(database), saved)
  await replicas.sync()
  await replicas.serve(1)
  result = whole('notes', 'mail')
  await replicas.sync()
  await replicas.serve(2)

  const other = await asInThePage()
  await shell(other, restore)
  assert.deepEqual(await rowsIn(other), saved)
  const moved = await replicasOf(t, urlOf(other, 'sallyport'), () => ({ kind: 'unchanged' }))
  await moved.serve(1)
})
