import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { noPostgres, PostgresCluster, type TestDatabase } from '#kit/postgres.js'
import { call, proxied, send } from '../../forward/proxied.js'
import { startAuthorizationServer } from './authorization-server.js'
import { signInUser } from './proxy-with-login.js'

const cluster = new PostgresCluster()
const skip = noPostgres ?? false

async function replica(t: TestContext, target: string, { url }: TestDatabase) {
  const { main, lines } = await proxied(t, target, {}, [
    { use: 'state/postgres', with: { url, migrate: true, passphrase: 'shared by all' } },
    { use: 'registrar/remembered' },
    { use: 'registrar/dynamic' },
    { use: 'credential/oauth', with: { target, login: 'start', openBrowser: false, callbackPort: 0 } },
  ])
  const status = async () => (await send(main, call(1))).status
  return { status, lines }
}

/** Two replicas whose user has signed in at one of them. */
async function replicas(t: TestContext) {
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t)
  const database = await cluster.database()
  const a = await replica(t, server.target, database)
  assert.equal(await a.status(), 200)
  const b = await replica(t, server.target, database)
  assert.equal(await b.status(), 200)
  assert.equal(urls.length, 1)
  const both = () => Promise.all([a.status(), b.status(), a.status(), b.status()])
  return { server, database, a, b, both, urls }
}

const ALL = [200, 200, 200, 200]

test('replicas share a login, a registration and each refresh (T15)', { skip }, async (t) => {
  const { server, both, urls } = await replicas(t)
  for (const round of [1, 2, 3]) {
    server.revokeTokens()
    assert.deepEqual(await both(), ALL)
    assert.equal(server.grantsOf('refresh_token'), round)
  }
  assert.deepEqual([urls.length, server.times('/register')], [1, 1])
})

test('while the database is away a token is used until it expires, and then refreshed without a login', {
  skip,
}, async (t) => {
  const server = await startAuthorizationServer(t)
  server.life = 8
  const { urls } = signInUser(t)
  const { status } = await replica(t, server.target, await cluster.database())
  assert.equal(await status(), 200)
  const issued = Date.now()
  await cluster.stop()
  // Its last seconds too, in which a request waits for a refresh.
  while (Date.now() - issued < 7_000) assert.equal(await status(), 200)
  await eventually(async () => (await status()) === 503)
  assert.equal(server.grantsOf('refresh_token'), 0)
  await cluster.start()
  await eventually(async () => (await status()) === 200, 20)
  assert.deepEqual([urls.length, server.grantsOf('refresh_token')], [1, 1])
})

test('a connection to the database that ends during a refresh causes no second redemption and no login (T15)', {
  skip,
}, async (t) => {
  const { server, database, both, urls, a, b } = await replicas(t)
  server.onRefresh = async () => {
    server.onRefresh = undefined
    await cluster.terminateBackends(database)
  }
  server.revokeTokens()
  // A request that waits for the lock may get the error that the server ends its connections, and has to try again.
  assert.equal((await both())[0], 200)
  await eventually(async () => (await b.status()) === 200)
  assert.deepEqual(await both(), ALL)
  assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [1, 1])
  assert.match(JSON.stringify([a.lines, b.lines]), /the session could not be stored.*the session is stored/)
  server.revokeTokens()
  assert.deepEqual(await both(), ALL)
  assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [2, 1])
})

test('the database is away when a refresh ends: its session is stored afterwards, for all (T15)', {
  skip,
}, async (t) => {
  const { server, a, b, both, urls } = await replicas(t)
  server.onRefresh = async () => {
    server.onRefresh = undefined
    await cluster.stop()
  }
  server.revokeTokens()
  assert.equal(await a.status(), 200)
  await cluster.start()
  await eventually(() => /the session is stored/.test(JSON.stringify(a.lines)))
  await eventually(async () => (await b.status()) === 200)
  assert.deepEqual(await both(), ALL)
  assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [1, 1])
})

test('a start while the database is away has no token, and gets one as soon as the database is back', {
  skip,
}, async (t) => {
  const { server, database, urls } = await replicas(t)
  await cluster.stop()
  const late = await replica(t, server.target, database)
  assert.equal(await late.status(), 503)
  await cluster.start()
  await eventually(async () => (await late.status()) === 200)
  assert.equal(urls.length, 1)
})
