import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Authenticator, Guard, Refusal } from 'sallyport'
import { booted } from '#kit/booted.js'
import { closed, providing } from '#kit/plugin.js'
import { onlyGood, routes } from './gated-routes.js'

test('a route without config needs an authenticated caller', async (t) => {
  const app = await booted(t, [routes, onlyGood])

  assert.equal((await app.inject('/closed')).statusCode, 401)
  assert.equal(
    (await app.inject({ url: '/closed', headers: { authorization: 'Bearer bad' } })).statusCode,
    401,
  )
  assert.equal(
    (await app.inject({ url: '/closed', headers: { authorization: 'Bearer good' } })).body,
    'closed',
  )
  assert.equal((await app.inject('/open')).body, 'open')
})

test('an unknown path is 401 without authentication and 404 with it', async (t) => {
  const app = await booted(t, [routes, onlyGood])

  assert.equal((await app.inject('/nowhere')).statusCode, 401)
  assert.equal(
    (await app.inject({ url: '/nowhere', headers: { authorization: 'Bearer good' } })).statusCode,
    404,
  )
  assert.equal((await app.inject('/%zz')).statusCode, 401)
})

test('a list without an authenticator refuses every request', async (t) => {
  const app = await booted(t, [routes])
  assert.equal((await app.inject('/closed')).statusCode, 401)
})

test('guards run before authentication, on public and unknown routes too', async (t) => {
  const never = providing('never', Guard, () => {
    throw new Refusal(403, 'NEVER', 'nobody passes')
  })
  const app = await booted(t, [routes, onlyGood, never])

  for (const url of ['/open', '/closed', '/nowhere', '/%zz', '/things/a/parts']) {
    assert.equal((await app.inject(url)).statusCode, 403, url)
  }
})

test('a scope has routes, unknown paths and a gate of its own', async (t) => {
  const app = await booted(t, [
    onlyGood,
    { scope: '/inner', plugins: [{ use: 'auth/anonymous' }, routes] },
    routes,
  ])

  assert.equal((await app.inject('/inner/closed')).body, 'closed')
  assert.equal((await app.inject('/inner/nowhere')).statusCode, 404)
  assert.equal((await app.inject('/closed')).statusCode, 401)
  assert.equal((await app.inject('/nowhere')).statusCode, 401)
})

const judging = (verdict: () => unknown) =>
  providing('judge', Authenticator, { provider: 'judge', authenticate: verdict } as Authenticator)

test('a verdict without an identity, or of the wrong type, refuses the request', async (t) => {
  const rejection = { kind: 'invalid', cause: 'signature' }
  const strange: (() => unknown)[] = [
    () => ({ identity: undefined }),
    () => ({ identity: null }),
    () => ({ identity: false }),
    () => ({ identity: 'me' }),
    () => ({ identity: {} }),
    () => ({ identity: { provider: 'judge', subject: undefined, claims: {} } }),
    () => ({ identity: { provider: 'x', subject: 'x', claims: {} }, rejection }),
    () => ({}),
    () => undefined,
    () => true,
    () => 'yes',
    () => Promise.resolve({ identity: undefined }),
    () => Promise.resolve(undefined),
    () => Promise.reject(undefined),
    () => {
      throw undefined
    },
    () => ({
      // biome-ignore lint/suspicious/noThenProperty: a verdict made to look like a promise
      get then() {
        throw undefined
      },
    }),
    () => new Proxy({}, { get: () => assert.fail('a trap') }),
  ]
  for (const [index, verdict] of strange.entries()) {
    const app = await booted(t, [judging(verdict), closed])
    assert.equal((await app.inject('/')).statusCode, 503, `verdict ${index}`)
  }
  const rejecting = await booted(t, [judging(() => ({ identity: undefined, rejection })), closed])
  assert.equal((await rejecting.inject('/')).statusCode, 401)
})
