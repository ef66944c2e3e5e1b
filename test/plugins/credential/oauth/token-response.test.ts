import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import { UpstreamError } from 'sallyport'
import { TokenEndpoint } from '#plugins/credential/oauth/token-endpoint.js'
import { call, send } from '../../forward/proxied.js'
import { startAuthorizationServer } from './authorization-server.js'
import { proxyWithLogin, signInUser } from './proxy-with-login.js'

const GIVEN = { access_token: 'access', token_type: 'Bearer' }

/** The tokens of a token response. */
function tokensOf(body: unknown) {
  const server = { issuer: 'https://idp.example', token_endpoint: 'https://idp.example/token' }
  const client = { issuer: server.issuer, clientId: 'me' }
  const endpoint = new TokenEndpoint({ server, client, resource: undefined }, async () => Response.json(body))
  return endpoint.clientCredentials([], new AbortController().signal)
}

test('a field that an issuer sends as null or an empty text counts as absent', async () => {
  const fields = ['refresh_token', 'scope', 'id_token', 'expires_in']
  for (const nothing of [null, '']) {
    const others = Object.fromEntries(fields.map((field) => [field, nothing]))
    assert.deepEqual(await tokensOf({ ...GIVEN, ...others }), { accessToken: 'access' })
  }
})

test('a lifetime of 0 means no expiry, as in other clients', async () => {
  for (const none of [0, '0'])
    assert.deepEqual(await tokensOf({ ...GIVEN, expires_in: none }), { accessToken: 'access' })
})

test('every response of an issuer gives a token that a header can carry, or an error', async () => {
  const values = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.jsonValue(),
    fc.constantFrom('a\r\nX-Evil: 1', 'bearer', 60),
  )
  const fields = fc.constantFrom(
    'access_token',
    'token_type',
    'expires_in',
    'refresh_token',
    'scope',
    'id_token',
  )
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fields, values), async (odd) => {
      const body = { ...GIVEN, ...odd }
      const result = await tokensOf(body).catch((error: unknown) => error)
      if (result instanceof Error) {
        assert.ok(result instanceof UpstreamError)
        assert.equal(result.code, 'OAUTH_FAILED')
      } else assert.match(String(Object(result).accessToken), /^[\x21-\x7e]+$/)
    }),
  )
})

test('tokens of a millisecond are not refreshed without end', async (t) => {
  const server = await startAuthorizationServer(t)
  server.life = 0.001
  signInUser(t)
  const { main } = await proxyWithLogin(t, server.target, { login: 'start' })
  await send(main, call(1))
  const before = server.grantsOf('refresh_token')
  await setTimeout(1_100)
  const refreshes = server.grantsOf('refresh_token') - before
  assert.ok(refreshes >= 1 && refreshes <= 3, String(refreshes))
})
