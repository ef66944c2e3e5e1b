import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, send } from '../../forward/proxied.js'
import { startAuthorizationServer } from './authorization-server.js'
import { proxyWithLogin, signInUser } from './proxy-with-login.js'

test('the device flow polls until the user has signed in, and its tokens are refreshed like any', async (t) => {
  const server = await startAuthorizationServer(t)
  server.metadata = { device_authorization_endpoint: `${server.origin}/device` }
  const { urls } = signInUser(t)
  const { main, lines } = await proxyWithLogin(t, server.target, { grant: 'device_code', scopes: ['a', 'b'] })

  assert.equal((await send(main, call(1))).status, 200)
  assert.deepEqual(urls, [`${server.origin}/activate`])
  const [asked] = server.at('/device')
  assert.deepEqual([asked?.form.get('scope'), asked?.form.get('resource')], ['a b', server.target])
  const registered = JSON.parse(server.at('/register')[0]?.body ?? '{}')
  assert.deepEqual(registered.grant_types, ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'])
  assert.deepEqual([registered.redirect_uris, registered.response_types], [[], []])

  server.revokeTokens()
  assert.equal((await send(main, call(1))).status, 200)
  assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [1, 1])
  assert.doesNotMatch(JSON.stringify(lines), /canary/)
})

test('a device flow without a user ends at its time limit, and one that is denied ends at once', async (t) => {
  const server = await startAuthorizationServer(t)
  server.metadata = { device_authorization_endpoint: `${server.origin}/device` }
  signInUser(t, () => {})
  const options = { grant: 'device_code', timeout: '1500ms', signInTimeout: '1500ms' }
  const { main } = await proxyWithLogin(t, server.target, options)
  const { status, body } = await send(main, call(1))
  assert.equal(status, 503)
  assert.match(body, /login_timeout/)

  server.tokenFaults.push((response) => {
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"access_denied"}')
  })
  const second = await proxyWithLogin(t, server.target, { ...options, timeout: '20s' })
  const denied = await send(second.main, call(1))
  assert.match(denied.body, /oauth_access_denied/)
})

test('a provider without the device flow, or without a usable page, is an error (T1)', async (t) => {
  const cases = [
    { metadata: () => ({}), page: undefined, code: /device_flow_unsupported/ },
    {
      metadata: (origin: string) => ({ device_authorization_endpoint: `${origin}/device` }),
      page: 'file:///bin/sh',
      code: /authorization_url_refused/,
    },
  ]
  for (const { metadata, page, code } of cases) {
    const server = await startAuthorizationServer(t)
    server.metadata = metadata(server.origin)
    server.activation = page
    const { urls } = signInUser(t)
    const { main } = await proxyWithLogin(t, server.target, { grant: 'device_code' })
    assert.match((await send(main, call(1))).body, code)
    assert.equal(urls.length, 0)
    t.mock.restoreAll()
  }
})
