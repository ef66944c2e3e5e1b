import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { UnsecuredJWT } from 'jose'
import { CallerTokens, LoginProvider, type LoginTokens, StateStore } from 'sallyport'
import { digestOf, isPromise } from 'sallyport/toolkit'
import { plugin, providing } from '#kit/plugin.js'
import { brokered, HandClient, identityOf, later } from './brokered.js'

const HOUR = 3_600_000

/** A broker before a provider that signs everybody in as `alice`, with these tokens at the sign-in and at each refresh. */
async function signedIn(t: TestContext, given: LoginTokens, refreshed: () => LoginTokens = () => given) {
  const asked = { refreshes: 0 }
  const alice = { subject: 'alice', claims: {} }
  const provider = providing('directory', LoginProvider, {
    idp: 'https://idp.example',
    name: 'Directory',
    accountsOf: 'organisation',
    begin: async (redirectUri) => ({ url: `${redirectUri}?state=s`, state: 's', checks: '' }),
    finish: async () => ({ ...alice, tokens: given }),
    refresh: async () => {
      asked.refreshes++
      return { ...alice, tokens: refreshed() }
    },
  })
  const found: { tokens?: () => CallerTokens; state?: () => StateStore } = {}
  const taking = plugin(
    'taking',
    (gateway) => {
      found.tokens = gateway.use(CallerTokens)
      found.state = gateway.use(StateStore)
    },
    { requires: [CallerTokens, StateStore] },
  )
  const { origin } = await brokered(t, { provider, broker: { accessToken: '12h' }, plugins: [taking] })
  const caller = identityOf((await new HandClient(origin).tokens()).access_token)
  return {
    asked,
    held: async (wanted?: 'access' | 'id') => found.tokens?.()(caller, 'login', wanted),
    /** Runs `work` while another process has the lock of the sign-in. */
    locked: async (work: () => Promise<void>) =>
      found.state?.().locked(`broker/login/${digestOf(`${origin} ${caller.claims['sid']}`)}`, work),
    isCached: () => !isPromise(found.tokens?.()(caller, 'login')),
  }
}

const idToken = (lifetime: number): string =>
  new UnsecuredJWT({ sub: 'alice' }).setExpirationTime(Math.floor((Date.now() + lifetime) / 1000)).encode()

test('a token of which the provider does not say when it expires is never refreshed by a call', async (t) => {
  const { asked, held } = await signedIn(t, { access: 'first', refresh: 'r' })
  later(t, 9 * HOUR)
  assert.equal((await held())?.access, 'first')
  assert.equal(asked.refreshes, 0)
})

test('a token that lasts for seconds is cached for half of them', async (t) => {
  const { asked, held, isCached } = await signedIn(t, { access: 'first', expiresAt: 0 }, () => ({
    access: `next-${asked.refreshes}`,
    expiresAt: Date.now() + 20_000,
  }))
  assert.equal((await held())?.access, 'next-1')
  later(t, 9_000)
  assert.ok(isCached())
  later(t, 2_000)
  assert.equal((await held())?.access, 'next-2')
})

test('a cached token is read from the state store again after five minutes', async (t) => {
  const { asked, held, isCached } = await signedIn(t, { access: 'first', expiresAt: Date.now() + 9 * HOUR })
  await held()
  later(t, 299_000)
  assert.ok(isCached())
  later(t, 2_000)
  assert.ok(!isCached())
  assert.equal(asked.refreshes, 0)
})

test('an expired token that the provider does not replace is a 401, and the provider is asked once for many calls', async (t) => {
  const { asked, held } = await signedIn(t, { access: 'only', expiresAt: Date.now() + HOUR })
  assert.equal((await held())?.access, 'only')
  later(t, HOUR)
  for (const _ of [1, 2, 3]) await assert.rejects(held(), { statusCode: 401, code: 'INVALID_TOKEN' })
  assert.equal(asked.refreshes, 1)
})

test('an ID token is refreshed when it has expired, and not where the access token alone is wanted', async (t) => {
  const expiresAt = Date.now() + 9 * HOUR
  const { asked, held } = await signedIn(t, { access: 'first', id: idToken(HOUR), expiresAt }, () => ({
    access: 'second',
    id: idToken(HOUR),
    expiresAt,
  }))
  const first = await held('id')
  later(t, HOUR)
  assert.equal((await held())?.access, 'first')
  assert.equal(asked.refreshes, 0)
  const second = await held('id')
  assert.notEqual(second?.id, first?.id)
  assert.equal(second?.holder, first?.holder)
  assert.ok((second?.expiresAt ?? 0) > Date.now())
  assert.equal(asked.refreshes, 1)
})

test('a person without an ID token has none, and is not refreshed for it', async (t) => {
  const { asked, held } = await signedIn(t, { access: 'first', expiresAt: Date.now() + HOUR })
  assert.equal((await held('id'))?.id, undefined)
  assert.equal(asked.refreshes, 0)
})

test('calls that come at once share one refresh', async (t) => {
  const { asked, held } = await signedIn(t, { access: 'first', expiresAt: 0 }, () => ({
    access: 'second',
    expiresAt: Date.now() + HOUR,
  }))
  const all = await Promise.all(Array.from({ length: 20 }, () => held()))
  assert.deepEqual([...new Set(all.map((each) => each?.access))], ['second'])
  assert.equal(asked.refreshes, 1)
})

test('calls for the access token and for the ID token share one refresh too', async (t) => {
  const { asked, held } = await signedIn(t, { access: 'first', id: idToken(0), expiresAt: 0 }, () => ({
    access: 'second',
    id: idToken(HOUR),
    expiresAt: Date.now() + HOUR,
  }))
  const both = await Promise.all([held('access'), held('id')])
  assert.deepEqual(
    both.map((each) => each?.access),
    ['second', 'second'],
  )
  assert.equal(asked.refreshes, 1)
})

test('a call with a good token does not wait until another process has refreshed the sign-in', async (t) => {
  const { held, locked } = await signedIn(t, { access: 'first', expiresAt: Date.now() + HOUR })
  await locked(async () => assert.equal((await held())?.access, 'first'))
})
