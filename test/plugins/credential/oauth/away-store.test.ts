import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { StateStore, UpstreamError } from 'sallyport'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { listen, providing } from '#kit/plugin.js'
import { call, send, targetRoute } from '../../forward/proxied.js'
import { startAuthorizationServer } from './authorization-server.js'
import { loginEntries, signInUser } from './proxy-with-login.js'

/** A store of other machines, which can be away. */
function sharedStore() {
  const values = new Map<string, string>()
  let isAway = false
  const there = async () => {
    if (isAway) throw new UpstreamError('STORE_AWAY', 'the store is away', { statusCode: 503 })
    return values
  }
  const stateShared = providing('state/shared', StateStore, {
    get: async (key) => (await there()).get(key),
    set: async (key, value) => void (await there()).set(key, value),
    take: async (key) => {
      const value = (await there()).get(key)
      values.delete(key)
      return value
    },
    delete: async (key) => void (await there()).delete(key),
    keys: async () => [...(await there()).keys()],
    locked: async (_key, work) => {
      await there()
      return work()
    },
  })
  return {
    entry: stateShared,
    goAway() {
      isAway = true
    },
    /** Comes back without its content. */
    comeBackEmpty() {
      isAway = false
      values.clear()
    },
  }
}

async function signedIn(t: TestContext) {
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t)
  const store = sharedStore()
  const [, ...login] = loginEntries({ target: server.target, login: 'start' })
  const list = [
    listen,
    { use: 'auth/anonymous' },
    ...[store.entry, ...login],
    { use: 'forward/http', with: { target: targetRoute.urlOf(server.target) } },
  ]
  const running = await serving(t, list)
  const ask = async () => (await send(running.addresses.main ?? '', call(1))).status
  await eventually(async () => (await ask()) === 200)
  return { store, urls, ask, reload: () => running.swap(list) }
}

test('a reload while the store is away keeps the current token', async (t) => {
  const { store, urls, ask, reload } = await signedIn(t)
  store.goAway()
  await reload()
  assert.equal(await ask(), 200)
  assert.equal(urls.length, 1)
})

test('after a reload a login that was deleted in the store is not used', async (t) => {
  const { store, urls, ask, reload } = await signedIn(t)
  store.comeBackEmpty()
  await reload()
  assert.equal(await ask(), 200)
  assert.equal(urls.length, 2)
})
