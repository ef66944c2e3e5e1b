import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { listening } from '#kit/listening.js'
import { call, send } from '../../forward/proxied.js'
import { type AuthorizationServer, sendJson, startAuthorizationServer } from './authorization-server.js'
import { proxyWithLogin, signInUser } from './proxy-with-login.js'

test('the device flow polls until the user has signed in, and its tokens are refreshed like those of other logins', async (t) => {
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

type Fault = AuthorizationServer['tokenFaults'][number]

async function signedInAfter(t: TestContext, fault: Fault): Promise<[status: number, polls: number]> {
  const server = await startAuthorizationServer(t)
  server.metadata = { device_authorization_endpoint: `${server.origin}/device` }
  server.tokenFaults.push(fault)
  const { main } = await proxyWithLogin(t, server.target, { grant: 'device_code' })
  const { status } = await send(main, call(1))
  return [status, server.times('/token')]
}

test('a poll of the device flow that fails for a moment does not end the login', async (t) => {
  signInUser(t)
  const faults: Fault[] = [(response) => response.destroy(), (response) => sendJson(response, 502, {})]
  const results = await Promise.all(faults.map((fault) => signedInAfter(t, fault)))
  assert.deepEqual(results, [
    [200, 2],
    [200, 2],
  ])
})

test('the device flow goes on when an issuer reports a pending sign-in with status 200', async (t) => {
  signInUser(t)
  const pending: Fault = (response) => sendJson(response, 200, { error: 'authorization_pending' })
  assert.deepEqual(await signedInAfter(t, pending), [200, 2])
})

test('the device flow uses a token, and ignores an ID token of another issuer beside it', async (t) => {
  const server = await startAuthorizationServer(t)
  server.metadata = { device_authorization_endpoint: `${server.origin}/device` }
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { iss: 'https://other.example', aud: 'somebody', sub: 'x', iat: 1, exp: 2 ** 32 }
  const idToken = `${part({ alg: 'RS256' })}.${part(claims)}.c2ln`
  const accessToken = 'of-the-device-flow'
  server.tokenFaults.push((response) =>
    sendJson(response, 200, { access_token: accessToken, token_type: 'bearer', id_token: idToken }),
  )
  signInUser(t)
  const target = await listening(t, ({ headers }, response) => response.end(headers.authorization))
  const { main } = await proxyWithLogin(t, target, {
    ...{ grant: 'device_code', login: 'start', issuer: server.origin },
  })
  assert.equal((await send(main, call(1))).body, `Bearer ${accessToken}`)
})
