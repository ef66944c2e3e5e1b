import assert from 'node:assert/strict'
import { test } from 'node:test'
import { issuing } from 'sallyport/testing'
import { gate } from '../auth/jwt-gate.js'

test('RS-14: discovery that names another issuer makes the provider unusable, and the log says so', async (t) => {
  const issuer = await issuing(t)
  for (const wrong of [
    `${issuer.url}/`,
    issuer.url.toUpperCase(),
    undefined,
    [issuer.url],
    'https://evil.example',
  ]) {
    issuer.metadata = { issuer: wrong }
    const { status, lines } = await gate(t, issuer)
    assert.equal(await status(await issuer.jwt()), 401, String(wrong))
    assert.equal(lines.find(({ msg }) => msg === 'refused')?.['cause'], 'issuer')
  }
  assert.equal(issuer.times('/jwks'), 0)
})

test('RS-14: a provider without OpenID discovery is found by RFC 8414, with its path inserted', async (t) => {
  const issuer = await issuing(t, { path: '/tenant' })
  issuer.faults.set('/tenant/.well-known/openid-configuration', (_, response) =>
    response.writeHead(404).end(),
  )
  issuer.faults.set('/.well-known/oauth-authorization-server/tenant', (_, response) =>
    response.end(JSON.stringify({ issuer: issuer.url, jwks_uri: `${issuer.origin}/jwks` })),
  )
  const { status } = await gate(t, issuer)
  assert.equal(await status(await issuer.jwt()), 200)
})
