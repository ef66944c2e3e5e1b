import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startAuthorizationServer } from '../credential/oauth/authorization-server.js'
import { dynamicRegistrars, registrationRequest, startRegistrars } from './registering.js'

test('the values in the response of the issuer override those of the request (CL-14)', async (t) => {
  const server = await startAuthorizationServer(t)
  server.registration = {
    client_id: 'theirs',
    client_secret: 'secret',
    client_secret_expires_at: 4102444800,
    token_endpoint_auth_method: 'client_secret_post',
    redirect_uris: ['http://127.0.0.1:8666/callback', 'http://localhost:8666/callback'],
  }
  const { register } = await startRegistrars(t, dynamicRegistrars)
  assert.deepEqual(await register(registrationRequest(server.origin)), {
    issuer: server.origin,
    clientId: 'theirs',
    clientSecret: 'secret',
    tokenEndpointAuthMethod: 'client_secret_post',
    redirectUris: ['http://127.0.0.1:8666/callback', 'http://localhost:8666/callback'],
    secretExpiresAt: 4102444800,
  })
})

test('the issuer may leave a field out, or write it as null or an empty text', async (t) => {
  const without = { redirect_uris: undefined, token_endpoint_auth_method: undefined }
  for (const none of [undefined, null, '']) {
    const server = await startAuthorizationServer(t)
    server.registration = { ...without, client_secret: none, client_secret_expires_at: none }
    const { register } = await startRegistrars(t, dynamicRegistrars)
    const client = await register(registrationRequest(server.origin))
    assert.deepEqual([client?.clientId, client?.clientSecret], ['registered', undefined])
  }
})

test('the client authentication method is one that the issuer supports (CL-15)', async (t) => {
  const cases = [
    [undefined, 'client_secret_basic'],
    [['client_secret_post'], 'client_secret_post'],
    [['client_secret_post', 'client_secret_basic'], 'client_secret_basic'],
    [['private_key_jwt', 'none'], 'none'],
  ] as const
  for (const [supported, expected] of cases) {
    const server = await startAuthorizationServer(t)
    const { register } = await startRegistrars(t, dynamicRegistrars)
    const metadata = {
      registration_endpoint: `${server.origin}/register`,
      token_endpoint_auth_methods_supported: supported,
    }
    await register(registrationRequest(server.origin, { metadata }))
    const body = JSON.parse(server.at('/register')[0]?.body ?? '{}')
    assert.equal(body.token_endpoint_auth_method, expected)
  }
})

test('the error of a refused registration holds its code and no other text of the server (CL-14)', async (t) => {
  const server = await startAuthorizationServer(t)
  const { register } = await startRegistrars(t, dynamicRegistrars)
  const answering = (status: number, body: unknown) =>
    registrationRequest(server.origin, {
      fetch: async () =>
        new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } }),
    })
  const refusal = answering(400, { error: 'invalid_redirect_uri', error_description: '\u001b[2Jevil' })
  await assert.rejects(register(refusal), (error: Error) => {
    assert.match(error.message, /refused to register a client: invalid_redirect_uri$/)
    return true
  })
  for (const [status, body] of [
    [200, {}],
    [201, []],
    [201, { client_id: 7 }],
    [500, {}],
  ] as const) {
    await assert.rejects(register(answering(status, body)), { code: 'REGISTRATION_REFUSED' })
  }
  // Some issuers respond 200, and some omit the expiry of a secret that never expires.
  const lax = await register(answering(200, { client_id: 'x', client_secret: 'secret' }))
  assert.deepEqual([lax?.clientId, lax?.clientSecret], ['x', 'secret'])
})
