import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, send } from '../../forward/proxied.js'
import { sendJson, startAuthorizationServer } from './authorization-server.js'
import { proxyWithLogin, signInUser } from './proxy-with-login.js'

const ISSUERS: Readonly<Record<string, readonly string[]>> = {
  '': ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'],
  '/t': [
    '/.well-known/oauth-authorization-server/t',
    '/.well-known/openid-configuration/t',
    '/t/.well-known/openid-configuration',
  ],
}
for (const [path, places] of Object.entries(ISSUERS)) {
  test(`the metadata of an issuer ${path === '' ? 'without a path' : 'with a path'} is requested in the order of MCP until it is found (CL-03)`, async (t) => {
    for (const [found, place] of places.entries()) {
      const server = await startAuthorizationServer(t)
      server.documentPath = place
      server.metadata = { issuer: server.origin + path }
      signInUser(t)
      const { main } = await proxyWithLogin(t, server.target)
      assert.equal((await send(main, call(1))).status, 200)
      const asked = server.seen.map((seen) => seen.path).filter((each) => places.includes(each))
      assert.deepEqual(asked, places.slice(0, found + 1))
      t.mock.restoreAll()
    }
  })
}

test('no request for metadata, a client or tokens carries a token of the target (CL-23)', async (t) => {
  const server = await startAuthorizationServer(t)
  signInUser(t)
  const { main } = await proxyWithLogin(t, server.target)
  assert.equal((await send(main, call(1))).status, 200)
  server.revokeTokens()
  server.revokeGrant()
  const headers = { authorization: 'Bearer of-the-caller' }
  assert.equal((await send(main, { ...call(2), headers })).status, 200)

  const others = server.seen.filter(({ path }) => path !== '/mcp')
  assert.ok(server.times('/token') >= 3 && others.length >= 8)
  assert.deepEqual(
    others.flatMap(({ headers: sent }) => sent.authorization ?? []),
    [],
  )
})

test('an issuer that issues no tokens for the resource is an error that names the resource (CL-33)', async (t) => {
  const server = await startAuthorizationServer(t)
  server.tokenFaults.push((response) => sendJson(response, 400, { error: 'invalid_target' }))
  signInUser(t)
  const { main } = await proxyWithLogin(t, server.target)
  const { status, body } = await send(main, call(1))
  assert.equal(status, 503)
  assert.ok(body.includes('invalid_target') && body.includes(server.target), body)
})

test('a user signs in only at an issuer with PKCE by S256, where a stolen code is of no use', async (t) => {
  for (const [methods, isConfigured, expected] of [
    [undefined, false, 502],
    [['plain'], false, 502],
    [['plain'], true, 502],
    // With an issuer that the operator configured, the metadata need not name PKCE.
    [undefined, true, 200],
  ] as const) {
    const server = await startAuthorizationServer(t)
    server.metadata = { code_challenge_methods_supported: methods }
    const { urls } = signInUser(t)
    const { main } = await proxyWithLogin(t, server.target, isConfigured ? { issuer: server.origin } : {})
    const { status, body } = await send(main, call(1))
    assert.deepEqual([status, urls.length], expected === 200 ? [200, 1] : [502, 0])
    assert.equal(body.includes('pkce_unsupported'), expected === 502)
    t.mock.restoreAll()
  }
})

test('an issuer without PKCE may issue tokens by a grant without a code', async (t) => {
  for (const isConfigured of [false, true]) {
    const server = await startAuthorizationServer(t)
    server.metadata = {
      code_challenge_methods_supported: ['plain'],
      device_authorization_endpoint: `${server.origin}/device`,
    }
    const options = { grant: 'device_code', ...(isConfigured && { issuer: server.origin }) }
    signInUser(t)
    const { main } = await proxyWithLogin(t, server.target, options)
    assert.equal((await send(main, call(1))).status, 200)
    t.mock.restoreAll()
  }
})
