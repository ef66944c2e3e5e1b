import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { decodeJwt } from 'jose'
import { type Entry, isScope, type List, Revocation, StateStore } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { issuing } from '#kit/issuer.js'
import { Person } from '#kit/person.js'
import { plugin } from '#kit/plugin.js'
import { brokered, calledWith, HandClient } from './brokered.js'

/** A state store that several gateways may use. */
const shared = (t: TestContext): Entry => ({
  use: 'state/sqlite',
  with: { directory: folder(t), passphrase: 'x'.repeat(20) },
})

/** What a gateway revokes by. */
function taking() {
  const taken: { revocation?: () => Revocation } = {}
  const entry = plugin('taking', (gateway) => Object.assign(taken, { revocation: gateway.use(Revocation) }), {
    requires: [Revocation],
  })
  const revocation = (): Revocation => taken.revocation?.() ?? assert.fail('nothing is revoked here')
  return { entry, revocation }
}

/** A list at another port. */
const elsewhere = (list: List): List =>
  list.map((item) =>
    !isScope(item) && item.use === 'listen/http' ? { ...item, with: { address: '127.0.0.1:0' } } : item,
  )

/** Two gateways that share the store and the key file. */
async function replicas(t: TestContext, broker: object = {}) {
  const { entry, revocation } = taking()
  const first = await brokered(t, { state: shared(t), broker, plugins: [entry] })
  const other = await serving(t, elsewhere(first.list), { folder: first.home })
  return { ...first, urls: [first.url, `${other.addresses.main}/mcp`], revocation }
}

const statuses = (urls: readonly string[], token: unknown) =>
  Promise.all(urls.map((url) => calledWith(url, token)))

test('a revoked person is refused by every gateway within 5 s, refreshes nothing, and may sign in again', async (t) => {
  const { origin, urls, revocation } = await replicas(t)
  const client = new HandClient(origin)
  const alice = await client.tokens(new Person('alice'))
  const other = new HandClient(origin)
  const bob = await other.tokens(new Person('bob'))
  assert.deepEqual(await statuses(urls, alice['access_token']), [200, 200])
  const refreshed = (await client.refresh(alice['refresh_token'])).body

  assert.equal(await revocation().revoke({ subject: 'alice' }), 1)
  const at = Date.now()
  for (const token of [alice, refreshed])
    await eventually(async () => (await statuses(urls, token['access_token'])).every((each) => each === 401))
  assert.ok(Date.now() - at < 5_000, `${Date.now() - at} ms`)

  const again = await client.refresh(refreshed['refresh_token'])
  assert.deepEqual([again.status, again.body['error']], [400, 'invalid_grant'])
  assert.deepEqual(await statuses(urls, bob['access_token']), [200, 200], 'another person')
  assert.equal((await other.refresh(bob['refresh_token'])).status, 200)
  const later = await client.tokens(new Person('alice'))
  assert.deepEqual(await statuses(urls, later['access_token']), [200, 200], 'a later sign-in')
  assert.equal((await client.refresh(later['refresh_token'])).status, 200)
})

test('a refreshed token has the time of the sign-in, and no claim of the provider replaces it', async (t) => {
  const { origin } = await brokered(t)
  const client = new HandClient(origin)
  const first = await client.tokens()
  const { auth_time: signedIn } = decodeJwt(String(first['access_token']))
  assert.ok(typeof signedIn === 'number' && Math.abs(signedIn - Date.now() / 1000) < 30)
  const second = (await client.refresh(first['refresh_token'])).body
  assert.equal(decodeJwt(String(second['access_token']))['auth_time'], signedIn)
})

test('a revoked sign-in ends alone, with the session of its browser', async (t) => {
  const { entry, revocation } = taking()
  const { origin, url } = await brokered(t, { plugins: [entry] })
  const client = new HandClient(origin)
  const [laptop, phone] = [new Person(), new Person()]
  const one = await client.tokens(laptop)
  const two = await client.tokens(phone)
  const [first, second] = await revocation().signIns()
  assert.deepEqual(
    [first, second].map((signIn) => [signIn?.subject, signIn?.name, signIn?.client]),
    [
      ['alice', 'Alice', 'By hand'],
      ['alice', 'Alice', 'By hand'],
    ],
  )
  assert.equal(first?.id, decodeJwt(String(one['access_token']))['sid'])

  assert.equal(await revocation().revoke({ session: String(first?.id) }), 1)
  assert.equal(await calledWith(url, one['access_token']), 401)
  assert.equal(await calledWith(url, two['access_token']), 200)
  assert.equal((await client.refresh(one['refresh_token'])).status, 400)
  assert.equal((await client.refresh(two['refresh_token'])).status, 200)
  assert.deepEqual(
    (await revocation().signIns()).map(({ id }) => id),
    [second?.id],
  )
  laptop.visited.length = 0
  await client.signIn(laptop)
  assert.ok(
    laptop.visited.some((visited) => visited.includes('/oauth/callback')),
    'it signs in anew',
  )
})

test('a token of a provider beside the broker is refused by its own issuer and time', async (t) => {
  const { entry, revocation } = taking()
  const machines = await issuing(t)
  const auth = {
    use: 'auth/jwt',
    with: { name: 'machines', issuerUrl: machines.url, audience: machines.audience, allowPrivateIP: true },
  }
  const { origin, url } = await brokered(t, { plugins: [entry, auth] })
  const person = await new HandClient(origin).tokens()
  const now = Math.floor(Date.now() / 1000)
  const token = (changed: object) => machines.jwt({ sub: 'alice', exp: now + 3_600, ...changed })
  const before = await token({ iat: now - 60 })
  assert.equal(await calledWith(url, before), 200)

  await revocation().revoke({ subject: 'alice', idp: machines.url })
  const rows = [
    ['before', before, 401],
    ['without a time', await token({ iat: undefined }), 401],
    ['after', await token({ iat: now + 30 }), 200],
    ['of another subject', await token({ sub: 'bob', iat: now - 60 }), 200],
    ['of the same subject at the broker', person['access_token'], 200],
  ] as const
  for (const [which, each, status] of rows) assert.equal(await calledWith(url, each), status, which)
})

test('a code that was not redeemed when its person was revoked is worth nothing', async (t) => {
  const { entry, revocation } = taking()
  const { origin } = await brokered(t, { plugins: [entry] })
  const client = new HandClient(origin)
  await client.register()
  const code = (await client.signIn()).get('code') ?? ''
  await revocation().revoke({ subject: 'alice' })
  const answer = await client.redeem(code)
  assert.deepEqual([answer.status, answer.body['error']], [400, 'invalid_grant'])
})

test('a revocation holds after a restart of all gateways', async (t) => {
  const { entry, revocation } = taking()
  const first = await brokered(t, { state: shared(t), plugins: [entry] })
  const { access_token: token } = await new HandClient(first.origin).tokens()
  await revocation().revoke({ subject: 'alice' })
  await first.running.stop(0)
  const second = await serving(t, elsewhere(first.list), { folder: first.home })
  assert.equal(await calledWith(`${second.addresses.main}/mcp`, token), 401)
})

/** A state store that can be away. */
function leaving() {
  const values = new Map<string, string>()
  const state = { isAway: false, deletes: true }
  const here = <T>(value: T): Promise<T> =>
    state.isAway ? Promise.reject(new Error('the store is away')) : Promise.resolve(value)
  const take = (key: string): string | undefined => {
    const value = values.get(key)
    values.delete(key)
    return value
  }
  const entry = plugin(
    'leaving',
    (gateway) =>
      gateway.provide(StateStore, {
        get: (key) => here(values.get(key)),
        set: async (key, value) => void values.set(await here(key), value),
        take: async (key) => take(await here(key)),
        async delete(key) {
          if (!state.deletes) throw new Error('the store deletes nothing')
          values.delete(await here(key))
        },
        keys: (prefix) => here([...values.keys()].filter((key) => key.startsWith(prefix))),
        locked: (_key, work) => work(),
      }),
    { provides: [StateStore] },
  )
  return { entry, state }
}

test('while the store is away the last list holds for `staleFor`, and then calls get 503', async (t) => {
  const { entry, revocation } = taking()
  const store = leaving()
  const broker = { staleFor: '2s' }
  const { origin, url, lines } = await brokered(t, { broker, state: store.entry, plugins: [entry] })
  const { access_token: alice } = await new HandClient(origin).tokens(new Person('alice'))
  const { access_token: bob } = await new HandClient(origin).tokens(new Person('bob'))
  await revocation().revoke({ subject: 'alice' })

  store.state.isAway = true
  await eventually(() => lines.some(({ msg }) => String(msg).startsWith('what is revoked cannot be read')))
  assert.deepEqual([await calledWith(url, alice), await calledWith(url, bob)], [401, 200])
  await eventually(async () => (await calledWith(url, bob)) === 503)
  assert.equal(await calledWith(url, alice), 503)
  await assert.rejects(revocation().revoke({ subject: 'bob' }))

  store.state.isAway = false
  await eventually(async () => (await calledWith(url, bob)) === 200)
  assert.equal(await calledWith(url, alice), 401)
})

test('a sign-in that cannot be deleted gives no token either, once its person is revoked', async (t) => {
  const { entry, revocation } = taking()
  const store = leaving()
  const { origin } = await brokered(t, { state: store.entry, plugins: [entry] })
  const client = new HandClient(origin)
  const { refresh_token: token } = await client.tokens()
  store.state.deletes = false
  await assert.rejects(revocation().revoke({ subject: 'alice' }), /deletes nothing/)
  const answer = await client.refresh(token)
  assert.deepEqual([answer.status, answer.body['error']], [400, 'invalid_grant'])
})

test('a gateway that starts without its store lets no call pass until it knows what is revoked', async (t) => {
  const store = leaving()
  const { origin, url, home, list } = await brokered(t, { state: store.entry })
  const { access_token: token } = await new HandClient(origin).tokens()
  store.state.isAway = true
  const other = await serving(t, elsewhere(list), { folder: home })
  const there = `${other.addresses.main}/mcp`
  assert.equal(await calledWith(there, token), 503)
  assert.equal(await calledWith(url, token), 200)
  store.state.isAway = false
  await eventually(async () => (await calledWith(there, token)) === 200)
})

contractSuite('issuer/broker', async (t) => {
  const { list, home } = await brokered(t)
  const keyFile = join(home, 'broker.key')
  return {
    list: elsewhere(list).map((item) =>
      !isScope(item) && item.use === 'issuer/broker'
        ? { ...item, with: { ...Object(item.with), keyFile } }
        : item,
    ),
  }
})
