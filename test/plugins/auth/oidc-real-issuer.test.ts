import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { gatewayWith } from 'sallyport/testing'
import { type RealIssuer, realIssuer } from '#kit/oidc-provider.js'
import { authority } from '#kit/tls.js'

async function gate(t: TestContext, issuer: RealIssuer, options: Readonly<Record<string, unknown>> = {}) {
  const { url: issuerUrl, audience } = issuer
  const provider = { name: 'real', issuerUrl, audience, allowPrivateIP: true }
  const { requestWith, lines } = await gatewayWith(t, [
    { use: 'auth/oidc', with: { ...provider, ...options } },
  ])
  const cause = () => lines.filter(({ msg }) => msg === 'refused').at(-1)?.['cause']
  return { status: async (token: string) => (await requestWith(`Bearer ${token}`)).status, cause }
}

for (const algorithm of ['RS256', 'ES256', 'PS256', 'EdDSA'] as const) {
  test(`a JWT of oidc-provider with ${algorithm} is accepted`, async (t) => {
    const issuer = await realIssuer(t, { algorithm })
    const { status, cause } = await gate(t, issuer)
    const token = await issuer.token()
    assert.equal(await status(token), 200, String(cause()))
    assert.equal(await status(`${token.slice(0, -8)}AAAAAAAA`), 401)
  })
}

test('RS-18: an opaque token of oidc-provider is accepted until it is revoked', async (t) => {
  const issuer = await realIssuer(t, { format: 'opaque' })
  const { introspectionUrl, client } = issuer
  const { status, cause } = await gate(t, issuer, { introspectionUrl, ...client, introspectionCacheTtl: 0 })
  const token = await issuer.token()
  assert.equal(await status(token), 200, String(cause()))
  assert.equal(await status(`${token}x`), 401)
  assert.equal(cause(), 'inactive')

  await issuer.revoke(token)
  assert.equal(await status(token), 401)
})

test('RS-19: oidc-provider does not introspect JWTs, nor for a client with a wrong secret', async (t) => {
  const issuer = await realIssuer(t)
  const { introspectionUrl, client } = issuer
  // Without keys only introspection could verify the JWT.
  const jwksUrl = `${issuer.url}/nothing-here`
  const asking = await gate(t, issuer, { introspectionUrl, ...client, jwksUrl })
  assert.equal(await asking.status(await issuer.token()), 401)
  const wrong = await gate(t, issuer, { introspectionUrl, ...client, clientSecret: 'wrong' })
  assert.equal(await wrong.status('opaque'), 401)
  assert.equal(wrong.cause(), 'introspection:refused')
})

test('`caCertPath`: a provider with a private certificate authority is trusted with its certificate only', async (t) => {
  const ca = authority(t)
  const issuer = await realIssuer(t, { algorithm: 'ES256', tls: ca.issue(['localhost']) })
  const opaque = await realIssuer(t, { format: 'opaque', tls: ca.issue(['localhost']) })
  const trusting = await gate(t, issuer, { caCertPath: ca.file })
  const without = await gate(t, issuer)
  const token = await issuer.token()

  assert.equal(await trusting.status(token), 200)
  assert.equal(await without.status(token), 401)
  assert.equal(without.cause(), 'unreachable')
  const { introspectionUrl, client } = opaque
  const asking = await gate(t, opaque, { caCertPath: ca.file, introspectionUrl, ...client })
  assert.equal(await asking.status(await opaque.token()), 200)
})
