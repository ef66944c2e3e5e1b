import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asking, call } from '../../forward/proxied.js'
import { authorizing } from './authorization-server.js'
import { person, signingIn } from './signing-in.js'

test('a login on another device is asked for until it was done, and its tokens last like any', async (t) => {
  const server = await authorizing(t)
  server.metadata = { device_authorization_endpoint: `${server.origin}/device` }
  const { urls } = person(t)
  const { main, lines } = await signingIn(t, server.target, { grant: 'device_code', scopes: ['a', 'b'] })

  assert.equal((await asking(main, call(1))).status, 200)
  assert.deepEqual(urls, [`${server.origin}/activate`])
  const [asked] = server.at('/device')
  assert.deepEqual([asked?.form.get('scope'), asked?.form.get('resource')], ['a b', server.target])
  const registered = JSON.parse(server.at('/register')[0]?.body ?? '{}')
  assert.deepEqual(registered.grant_types, ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'])
  assert.deepEqual([registered.redirect_uris, registered.response_types], [[], []])

  server.revokeTokens()
  assert.equal((await asking(main, call(1))).status, 200)
  assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [1, 1])
  assert.doesNotMatch(JSON.stringify(lines), /canary/)
})

test('a login on another device that nobody does ends with its time, and one that is denied at once', async (t) => {
  const server = await authorizing(t)
  server.metadata = { device_authorization_endpoint: `${server.origin}/device` }
  person(t, () => {})
  const options = { grant: 'device_code', timeout: '1500ms' }
  const { main } = await signingIn(t, server.target, options)
  const { status, body } = await asking(main, call(1))
  assert.equal(status, 503)
  assert.match(body, /login_timeout/)

  server.tokenFaults.push((response) => {
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"access_denied"}')
  })
  const second = await signingIn(t, server.target, { ...options, timeout: '20s' })
  const denied = await asking(second.main, call(1))
  assert.match(denied.body, /oauth_access_denied/)
})

test('a provider without it, or whose page is none, is said (T1)', async (t) => {
  const cases = [
    { metadata: () => ({}), page: undefined, code: /device_flow_unsupported/ },
    {
      metadata: (origin: string) => ({ device_authorization_endpoint: `${origin}/device` }),
      page: 'file:///bin/sh',
      code: /authorization_url_refused/,
    },
  ]
  for (const { metadata, page, code } of cases) {
    const server = await authorizing(t)
    server.metadata = metadata(server.origin)
    server.activation = page
    const { urls } = person(t)
    const { main } = await signingIn(t, server.target, { grant: 'device_code' })
    assert.match((await asking(main, call(1))).body, code)
    assert.equal(urls.length, 0)
    t.mock.restoreAll()
  }
})
