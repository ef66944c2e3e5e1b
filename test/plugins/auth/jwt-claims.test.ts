import assert from 'node:assert/strict'
import { test } from 'node:test'
import { issuing } from 'sallyport/testing'
import { gate } from './jwt-gate.js'

test('RS-09: `iss` is compared byte for byte: slash, case, port and encoding count', async (t) => {
  const issuer = await issuing(t, { path: '/Tenant' })
  const { status } = await gate(t, issuer)
  const { url, origin } = issuer
  const near = [
    `${url}/`,
    `${origin}/tenant`,
    `${origin}/%54enant`,
    `${url}#`,
    `${url}?`,
    `${origin}/./Tenant`,
    ` ${url}`,
  ]
  for (const iss of near) assert.equal(await status(await issuer.jwt({ iss })), 401, iss)
  assert.equal(await status(await issuer.jwt()), 200)
})

test('RS-09: an issuer that ends in a slash accepts only itself', async (t) => {
  const issuer = await issuing(t, { path: '/' })
  const { status } = await gate(t, issuer)
  assert.equal(await status(await issuer.jwt({ iss: issuer.origin })), 401)
  assert.equal(await status(await issuer.jwt()), 200)
})

test('RS-10: a token without `aud` is refused, and each audience is compared whole', async (t) => {
  const issuer = await issuing(t)
  const { status } = await gate(t, issuer)
  for (const aud of [undefined, 'regist', 'registry2', ['registry2', 'xregistry'], 'registry other']) {
    assert.equal(await status(await issuer.jwt({ aud })), 401, String(aud))
  }
})

test('`anyAudience` accepts a token for another audience, and needs no `audience`', async (t) => {
  const issuer = await issuing(t)
  const { status } = await gate(t, issuer, { audience: undefined, anyAudience: true })
  assert.equal(await status(await issuer.jwt({ aud: 'somebody else' })), 200)
})

test('RS-11: `exp`, `nbf` and `clockTolerance` at both edges', async (t) => {
  const issuer = await issuing(t)
  const strict = await gate(t, issuer)
  const lenient = await gate(t, issuer, { clockTolerance: '30s' })
  // Only the time of day is mocked: sockets and timers go on.
  const now = Math.floor(Date.now() / 1000)
  t.mock.timers.enable({ apis: ['Date'], now: now * 1000 })

  const cases: readonly (readonly [Readonly<Record<string, unknown>>, number, number])[] = [
    [{ exp: now + 1 }, 200, 200],
    [{ exp: now }, 401, 200],
    [{ exp: now - 29 }, 401, 200],
    [{ exp: now - 30 }, 401, 401],
    [{ nbf: now }, 200, 200],
    [{ nbf: now + 1 }, 401, 200],
    [{ nbf: now + 30 }, 401, 200],
    [{ nbf: now + 31 }, 401, 401],
    [{ iat: now + 60 }, 200, 200],
    [{ iat: now + 61 }, 401, 401],
    [{ exp: undefined }, 401, 401],
    [{ exp: now + 0.5 }, 200, 200],
    [{ exp: 1e300 }, 200, 200],
  ]
  for (const [claims, strictly, leniently] of cases) {
    const token = await issuer.jwt(claims)
    assert.equal(await strict.status(token), strictly, JSON.stringify(claims))
    assert.equal(await lenient.status(token), leniently, JSON.stringify(claims))
  }
})

test('RS-11: a tolerance above 60 s stops the start', async (t) => {
  const issuer = await issuing(t)
  await assert.rejects(gate(t, issuer, { clockTolerance: '61s' }), { code: 'CONFIG_INVALID' })
})

test('a cached token is refused from the second it expires', async (t) => {
  const issuer = await issuing(t)
  const { status } = await gate(t, issuer)
  const now = Math.floor(Date.now() / 1000)
  t.mock.timers.enable({ apis: ['Date'], now: now * 1000 })
  const token = await issuer.jwt({ exp: now + 10 })

  assert.equal(await status(token), 200)
  t.mock.timers.setTime((now + 10) * 1000)
  assert.equal(await status(token), 401)
})
