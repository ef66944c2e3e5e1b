import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Authenticator } from 'sallyport'
import { providing } from '#kit/plugin.js'
import { runs } from '#kit/runs.js'
import { document, publishing, ROOT } from '../publishing.js'

const anonymous = { authorization: '' }

test('a login checks a token and returns it with its own expiry, and the token has the same rights as before', async (t) => {
  const { send, issuer, publish, events } = await publishing(t)
  const exp = Math.floor(Date.now() / 1000) + 123
  const token = await issuer.jwt({ exp })
  for (const path of ['/auth/github-oidc', '/auth/oidc', '/registry/default/v0/auth/github-oidc']) {
    const response = await send('POST', path, { oidc_token: token }, anonymous)
    assert.equal(response.statusCode, 200, response.body)
    assert.deepEqual(response.json(), { registry_token: token, expires_at: exp })
    assert.equal(response.headers['cache-control'], 'no-store')
  }
  assert.deepEqual(
    events.map(({ kind, subject, provider }) => [kind, subject, provider]),
    Array.from({ length: 3 }, () => ['accepted', 'somebody', 'corp']),
  )
  assert.equal((await publish(document(), { authorization: `Bearer ${token}` })).statusCode, 200)
})

const accepting = providing('auth/test', Authenticator, {
  provider: 'test',
  authenticate: ({ credentials }) =>
    credentials.kind === 'bearer' && credentials.token === 'mine'
      ? { identity: { provider: 'test', subject: 'me', claims: {} } }
      : { rejection: { kind: 'notMine', cause: 'foreign' } },
})

test('a login returns a token without an expiry for five minutes', async (t) => {
  const { send } = await publishing(t, { further: [accepting] })
  const before = Math.floor(Date.now() / 1000)
  const response = await send('POST', '/auth/oidc', { oidc_token: 'mine' }, anonymous)

  const { registry_token, expires_at } = response.json()
  assert.equal(registry_token, 'mine')
  assert.ok(expires_at >= before + 300 && expires_at <= before + 305)
})

test('a login refuses a token that the authenticators do not accept, whatever else the request has', async (t) => {
  const { send, issuer, token, lines, events } = await publishing(t)
  const login = (body: unknown, headers: Record<string, string> = anonymous) =>
    send('POST', '/auth/github-oidc', body, headers)
  const expired = await issuer.jwt({ exp: 1 })
  const good = { authorization: `Bearer ${token}` }

  for (const wrong of [expired, 'CANARY', `${token}x`, 'a b', `${token} `, ' ', 'x\ny', 'ä'])
    for (const headers of [anonymous, good]) {
      const response = await login({ oidc_token: wrong }, headers)
      assert.equal(response.statusCode, 401, wrong)
      assert.ok(response.headers['www-authenticate'])
      assert.ok(!response.body.includes('CANARY'))
    }
  assert.ok(events.every(({ kind }) => kind === 'refused'))
  assert.ok(!JSON.stringify(lines).includes('CANARY'))
  for (const body of [{}, { oidc_token: 7 }, { oidc_token: '' }, [], 'null', '{', ''])
    assert.equal((await login(body, good)).statusCode, 400, JSON.stringify(body))
  assert.equal((await login({ oidc_token: 'x'.repeat(70_000) })).statusCode, 413)
})

test('any body is refused, but never with a 500', async (t) => {
  const { send } = await publishing(t)
  const body = fc.oneof(
    fc.json(),
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'binary' }).map((oidc_token) => JSON.stringify({ oidc_token })),
  )
  await fc.assert(
    fc.asyncProperty(body, async (text) => {
      const { statusCode } = await send('POST', '/auth/oidc', Buffer.from(text), anonymous)
      assert.ok(statusCode === 400 || statusCode === 401, `${statusCode}`)
    }),
    { numRuns: runs(200) },
  )
})

test('the official registry’s other logins are not supported, and the error names the one that is', async (t) => {
  const { send } = await publishing(t)
  for (const method of ['github-at', 'dns', 'http', 'none']) {
    const response = await send('POST', `/auth/${method}`, {}, anonymous)
    assert.equal(response.statusCode, 404)
    assert.match(response.json().error_description, /github-oidc/)
  }
  assert.equal((await send('GET', `${ROOT}/auth/oidc`)).statusCode, 405)
})

test('a required scope is needed below a public path too, to log in and to publish', async (t) => {
  const { send, publish, issuer } = await publishing(t, {
    further: [
      { use: 'discovery/resource', with: { resource: 'https://r.example', requiredScopes: ['write'] } },
      { use: 'auth/public-paths', with: { paths: ['/registry/default'] } },
    ],
  })
  assert.equal((await send('GET', '/servers', undefined, anonymous)).statusCode, 200)
  for (const [scope, expected] of [
    ['read', 403],
    ['read write', 200],
  ] as const) {
    const token = await issuer.jwt({ scope })
    const login = await send('POST', '/auth/oidc', { oidc_token: token }, anonymous)
    const published = await publish(document(), { authorization: `Bearer ${token}` })
    assert.deepEqual([login.statusCode, published.statusCode], [expected, expected])
    if (expected === 200) continue
    assert.equal(published.json().error, 'insufficient_scope')
    assert.match(String(published.headers['www-authenticate']), /error="insufficient_scope".*scope="write"/)
  }
})
