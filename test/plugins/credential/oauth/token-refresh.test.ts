import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { freePort } from '#kit/free-port.js'
import { twoClocks } from '#kit/two-clocks.js'
import { call, proxied, send } from '../../forward/proxied.js'
import { type AuthorizationServer, sendJson, startAuthorizationServer } from './authorization-server.js'
import { proxyWithLogin, signInUser } from './proxy-with-login.js'
import { SharedStore } from './shared-store.js'

async function replica(t: TestContext, target: string, store: SharedStore, timeout = '30s') {
  const counts = { reads: 0 }
  const { main } = await proxied(t, target, {}, [
    { use: store.plugin(() => void counts.reads++) },
    { use: 'registrar/remembered' },
    { use: 'registrar/dynamic' },
    {
      use: 'credential/oauth',
      with: { target, login: 'start', openBrowser: false, callbackPort: 0, timeout },
    },
  ])
  const status = async () => (await send(main, call(1))).status
  await eventually(async () => (await status()) === 200)
  /** Waits until it has looked for the session a few times more. */
  const looked = async (): Promise<void> => {
    const before = counts.reads
    await eventually(() => counts.reads >= before + 4)
  }
  return { status, looked }
}

async function replicas(t: TestContext, life = 3600) {
  const server = await startAuthorizationServer(t)
  server.life = life
  const { urls } = signInUser(t)
  const store = new SharedStore()
  const a = await replica(t, server.target, store)
  const b = await replica(t, server.target, store)
  return { server, urls, store, a, b }
}

/** Resolves when a refresh was granted; the test decides when the response is sent. */
async function heldRefresh(server: AuthorizationServer) {
  let answer = (): void => {}
  const granted = new Promise<void>((resolve) => {
    server.onRefresh = () => {
      server.onRefresh = undefined
      resolve()
      return new Promise<void>((done) => {
        answer = done
      })
    }
  })
  return { granted, answer: () => answer() }
}

/** A refresh of the first replica that was granted, has no response yet, and has lost its lock. */
async function lostRefresh(t: TestContext) {
  const clock = twoClocks(t, { stopped: true })
  const all = await replicas(t)
  const { granted, answer } = await heldRefresh(all.server)
  all.server.revokeTokens()
  const first = all.a.status()
  await granted
  all.store.loseLocks()
  return { ...all, clock, answer, first: { status: first } }
}

for (const [name, shift] of [
  ['behind', -3_000],
  ['ahead', 3_000],
] as const) {
  test(`a process waits for the refresh of another one that lost its lock, with a clock 3 s ${name}: one redemption (T15)`, async (t) => {
    const { server, urls, a, b, clock, first, answer } = await lostRefresh(t)
    clock.set(shift)
    const second = b.status()
    await b.looked()
    clock.passed(4_000)
    await b.looked()
    assert.equal(server.grantsOf('refresh_token'), 1)
    answer()
    assert.deepEqual([await first.status, await second], [200, 200])
    assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [1, 1])

    // The session of the first was stored, for the next refresh too.
    server.revokeTokens()
    assert.deepEqual([await b.status(), await a.status()], [200, 200])
    assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [2, 1])
  })
}

test('a process does not wait for a refresh that began longer ago than a request may take (T15)', async (t) => {
  const { server, urls, b, clock, first, answer } = await lostRefresh(t)
  server.repeatsRefresh = true
  const second = b.status()
  for (let seconds = 1; seconds <= 6; seconds++) {
    await b.looked()
    assert.equal(server.grantsOf('refresh_token'), 1)
    clock.passed(seconds * 1_000)
  }
  assert.equal(await second, 200)
  answer()
  assert.equal(await first.status, 200)
  assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [2, 1])
})

test('after a long absence of the store, the tokens of another process are stored before the old token is tried again (T15)', async (t) => {
  const { server, urls, store, a, b, clock, first, answer } = await lostRefresh(t)
  const second = b.status()
  await b.looked()
  store.isAway = true
  answer()
  assert.deepEqual([await first.status, await second], [200, 502])
  clock.passed(70_000)

  store.isAway = false
  assert.deepEqual([await b.status(), await a.status()], [200, 200])
  assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [1, 1])
})

test('no process waits for a refresh that the issuer refused with an error', async (t) => {
  const clock = twoClocks(t)
  const { server, urls, a, b } = await replicas(t)
  server.tokenFaults.push((response) => sendJson(response, 503, {}))
  server.revokeTokens()
  assert.equal(await a.status(), 503)
  const elapsed = performance.now()
  assert.equal(await b.status(), 200)
  assert.ok(performance.now() - elapsed < 5_000)
  clock.passed(4_000)
  assert.equal(await a.status(), 200)
  assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [2, 1])
})

test('a process does not try a refresh token that the issuer refused to another process', async (t) => {
  const server = await startAuthorizationServer(t)
  let isThere = true
  const { urls } = signInUser(t, (url) => isThere && fetch(url))
  const store = new SharedStore()
  const [a, b] = [await replica(t, server.target, store, '1s'), await replica(t, server.target, store, '1s')]
  isThere = false
  server.revokeTokens()
  server.revokeGrant()

  assert.deepEqual([await a.status(), await b.status()], [503, 503])
  assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [1, 2])
})

test('a token that is refused before its session could be stored is refreshed like any other', async (t) => {
  const { server, urls, a, first, answer } = await lostRefresh(t)
  answer()
  assert.equal(await first.status, 200)

  server.revokeTokens()
  assert.equal(await a.status(), 200)
  assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [2, 1])
})

test('a process adopts the tokens of a background refresh in another process, and does not refresh them again (T15)', async (t) => {
  const { server, urls, a, b } = await replicas(t, 2)
  const redeemed = () => server.at('/token').flatMap(({ form }) => form.get('refresh_token') ?? [])
  await eventually(() => redeemed().length >= 3)
  assert.equal(new Set(redeemed()).size, redeemed().length)
  assert.deepEqual([await a.status(), await b.status(), urls.length], [200, 200, 1])
})

test('a token that has expired is refreshed for the request that needs it', async (t) => {
  const clock = twoClocks(t)
  const { server, urls, a, b } = await replicas(t)
  clock.passed(3_700_000)
  assert.deepEqual([await a.status(), await b.status()], [200, 200])
  assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [1, 1])
})

test('a process that lost the lock before the refresh does not redeem the token (T15)', async (t) => {
  const clock = twoClocks(t)
  const { server, urls, store, a } = await replicas(t)
  server.revokeTokens()
  store.losesLocks = true
  assert.deepEqual([await a.status(), server.grantsOf('refresh_token')], [502, 0])

  store.losesLocks = false
  clock.passed(4_000)
  assert.equal(await a.status(), 200)
  assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [1, 1])
})

test('a process does not wait for itself where the store was away when its refresh failed', async (t) => {
  const clock = twoClocks(t)
  const { server, urls, store, a } = await replicas(t)
  server.tokenFaults.push((response) => {
    store.isAway = true
    sendJson(response, 503, {})
  })
  server.revokeTokens()
  assert.equal(await a.status(), 503)

  store.isAway = false
  clock.passed(4_000)
  const elapsed = performance.now()
  assert.equal(await a.status(), 200)
  assert.ok(performance.now() - elapsed < 5_000)
  assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [2, 1])
})

test('a client that the issuer refuses at a refresh is registered again before the login', async (t) => {
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t)
  const callbackPort = await freePort()
  const { main } = await proxyWithLogin(t, server.target, { login: 'start', callbackPort })
  assert.equal((await send(main, call(1))).status, 200)

  server.revokeTokens()
  server.tokenFaults.push((response) => sendJson(response, 401, { error: 'invalid_client' }))
  assert.equal((await send(main, call(1))).status, 200)
  assert.deepEqual([server.times('/register'), urls.length], [2, 2])
})
