import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { eventually } from '#kit/captured-log.js'
import { noPostgres, PostgresCluster, type TestDatabase } from '#kit/postgres.js'
import { browse, realLogin } from '../plugins/credential/oauth/real-provider.js'
import { call, send } from '../plugins/forward/proxied.js'
import { migrate, TIMEOUT } from './replicas.js'
import { startProxies } from './stage.js'

const PAGE = /(?<=^Open this URL to sign in: )\S+$/m

/** Locks the table of logins against writes until `release`. */
async function lockedTable(t: TestContext, { url }: TestDatabase) {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  t.after(() => client.end())
  return {
    hold: () => client.query('begin; lock table sallyport.state in exclusive mode'),
    release: () => client.query('rollback'),
  }
}

test('three proxies share one login, and a kill -9 between a refresh and its saving costs at most one more', {
  skip: noPostgres,
}, async (t) => {
  const database = await new PostgresCluster().database()
  await migrate(t, database.url)
  const login = await realLogin(t, { life: 3600 })
  const proxies = await startProxies(t, database, login.target, ['left', 'middle', 'right'])
  const all = () => Promise.all(proxies.map(({ main }) => send(`http://${main}`, call(1))))
  const before = login.counts.refreshes
  for (const round of [1, 2]) {
    login.refuseTokens()
    assert.deepEqual(new Set((await all()).map(({ status }) => status)), new Set([200]))
    assert.deepEqual(login.counts, { refreshes: before + round, logins: 1, refused: 0 })
  }

  const table = await lockedTable(t, database)
  login.onGrant(() => {
    login.onGrant(() => {})
    return table.hold()
  })
  login.refuseTokens()
  // Each proxy may have printed the URL of the first login.
  const printed = new Map(proxies.map((proxy) => [proxy, proxy.output.stderr.length]))
  const asked = proxies.map(({ main }) => send(`http://${main}`, call(2)).catch(() => undefined))
  const waiting = await eventually(async () => {
    const rows = await database.query<{ name: string }>(
      `select application_name as name from pg_stat_activity where wait_event_type = 'Lock' and wait_event = 'relation'`,
    )
    return proxies.find(({ name }) => rows.some((row) => row.name === name))
  }, TIMEOUT)
  await waiting.end('SIGKILL')
  await table.release()

  const others = proxies.filter((proxy) => proxy !== waiting)
  const page = await eventually(
    () =>
      others
        .map((proxy) => PAGE.exec(proxy.output.stderr.slice(printed.get(proxy)))?.[0])
        .find((found) => found !== undefined),
    TIMEOUT,
  )
  await browse(page)
  await Promise.all(asked)
  await waiting.start().ready()
  assert.deepEqual(new Set((await all()).map(({ status }) => status)), new Set([200]))
  login.refuseTokens()
  assert.deepEqual(new Set((await all()).map(({ status }) => status)), new Set([200]))
  // Some issuers repeat their answer, so the next process tries the same token once.
  assert.deepEqual([login.counts.logins, login.counts.refused], [2, 1])
})
