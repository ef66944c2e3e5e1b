import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, send } from '../../forward/proxied.js'
import { startAuthorizationServer } from './authorization-server.js'
import { proxyWithLogin, signInUser } from './proxy-with-login.js'

const atMcp = { ...call(1), path: '/' }

test('the scopes are those of the options, else of the challenge, else of the resource, else none (CL-09, CL-10)', async (t) => {
  const place = '/.well-known/oauth-protected-resource/mcp'
  const cases = [
    { options: { scopes: ['a', 'b'] }, challenged: 'c', supported: ['d'], expected: 'a b' },
    { options: {}, challenged: 'c e', supported: ['d'], expected: 'c e' },
    { options: {}, challenged: undefined, supported: ['d'], expected: 'd' },
    { options: {}, challenged: undefined, supported: undefined, expected: null },
  ]
  for (const { options, challenged, supported, expected } of cases) {
    const server = await startAuthorizationServer(t)
    const scope = challenged === undefined ? '' : `, scope="${challenged}"`
    server.challenge = `Bearer resource_metadata="${server.origin}${place}"${scope}`
    server.resource = { scopes_supported: supported }
    signInUser(t)
    const { main } = await proxyWithLogin(t, server.target, options)
    assert.equal((await send(main, atMcp)).status, 200)
    assert.equal(server.at('/authorize')[0]?.query.get('scope'), expected)
    t.mock.restoreAll()
  }
})

test('with a configured issuer the scopes of OpenID are requested, and offline_access where it is supported (CL-09, CL-10)', async (t) => {
  const server = await startAuthorizationServer(t)
  server.metadata = { scopes_supported: ['openid', 'offline_access'] }
  signInUser(t)
  const { main } = await proxyWithLogin(t, server.target, { issuer: server.origin })

  assert.equal((await send(main, atMcp)).status, 200)
  const query = server.at('/authorize')[0]?.query
  assert.equal(query?.get('scope'), 'openid profile email offline_access')
  assert.equal(query?.get('prompt'), 'consent')
  assert.equal(server.times('/.well-known/oauth-protected-resource/mcp'), 0)
})

test('plain OAuth with two configured URLs, another scope parameter, and no resource (CL-08)', async (t) => {
  const server = await startAuthorizationServer(t)
  signInUser(t)
  const options = {
    authorizationUrl: `${server.origin}/authorize?tenant=a&b=c`,
    tokenUrl: `${server.origin}/token`,
    scopes: ['x', 'y'],
    scopeParameter: 'user_scope',
    resource: '',
  }
  const registrars = [{ use: 'registrar/given', with: { clientId: 'mine', clientSecret: 'my secret' } }]
  const { main } = await proxyWithLogin(t, server.target, options, { registrars })

  assert.equal((await send(main, atMcp)).status, 200)
  const { query } = server.at('/authorize')[0] ?? {}
  assert.deepEqual([query?.get('tenant'), query?.get('b'), query?.get('user_scope')], ['a', 'c', 'x y'])
  assert.deepEqual([query?.has('scope'), query?.has('resource')], [false, false])
  const [{ form, headers } = { form: new URLSearchParams(), headers: {} }] = server.at('/token')
  const pair = Buffer.from(headers.authorization?.slice(6) ?? '', 'base64').toString()
  assert.deepEqual([pair, form.has('client_secret'), form.has('resource')], ['mine:my+secret', false, false])
  assert.equal(server.times('/.well-known/oauth-authorization-server'), 0)
})

test('a response of an unknown issuer and one of a wrong issuer are different errors, and no code is redeemed', async (t) => {
  const server = await startAuthorizationServer(t)
  server.callback = { iss: `${server.origin}/realm` }
  signInUser(t)
  const urls = { authorizationUrl: `${server.origin}/authorize`, tokenUrl: `${server.origin}/token` }
  const registrars = [{ use: 'registrar/given', with: { clientId: 'mine', clientSecret: 'my secret' } }]
  const failed = async (options: object) => {
    const { main, lines } = await proxyWithLogin(t, server.target, { ...urls, ...options }, { registrars })
    assert.equal((await send(main, atMcp)).status, 503)
    return /LOGIN_[A-Z_]+/.exec(JSON.stringify(lines))?.[0]
  }
  assert.equal(await failed({}), 'LOGIN_ISSUER_UNKNOWN')
  assert.equal(await failed({ issuer: server.origin }), 'LOGIN_MIXED_UP')
  assert.equal(server.times('/token'), 0)
})

test('a target of 2025-03-26 is its own authorization server, also without any metadata', async (t) => {
  const documents = ['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-authorization-server']
  for (const missing of [documents.slice(0, 1), documents]) {
    const server = await startAuthorizationServer(t)
    server.challenge = 'Bearer'
    for (const path of missing) server.missing.add(path)
    signInUser(t)
    const { main } = await proxyWithLogin(t, server.target)
    assert.equal((await send(main, atMcp)).status, 200)
    assert.deepEqual([server.times('/register'), server.times('/authorize')], [1, 1])
    t.mock.restoreAll()
  }
})

test('metadata of another resource or issuer ends the login before a client is registered (CL-02, CL-04, CL-05)', async (t) => {
  const elsewhere = await startAuthorizationServer(t)
  const cases: readonly { resource?: object; metadata?: object }[] = [
    { resource: { resource: elsewhere.target } },
    { resource: { resource: 'https://127.0.0.1/mcp' } },
    { resource: { authorization_servers: ['http://127.0.0.1:1'] } },
    { metadata: { code_challenge_methods_supported: undefined } },
    { metadata: { code_challenge_methods_supported: ['plain'] } },
  ]
  for (const { resource = {}, metadata = {} } of cases) {
    const server = await startAuthorizationServer(t)
    Object.assign(server, { resource, metadata })
    const { urls } = signInUser(t)
    const { main } = await proxyWithLogin(t, server.target)
    const { status } = await send(main, atMcp)
    assert.ok(status === 502 || status === 503, JSON.stringify({ resource, metadata, status }))
    assert.deepEqual([urls.length, server.times('/register'), server.times('/token')], [0, 0, 0])
    t.mock.restoreAll()
  }
})

test('issuers are compared byte for byte: a slash makes another (CL-04)', async (t) => {
  const server = await startAuthorizationServer(t)
  server.resource = { authorization_servers: [`${server.origin}/`] }
  signInUser(t)
  const { main, lines } = await proxyWithLogin(t, server.target)
  assert.equal((await send(main, atMcp)).status, 502)
  assert.match(JSON.stringify(lines), /ISSUER_MISMATCH/)
  assert.equal(server.times('/register'), 0)
})

test('a token that is not a bearer token is never used, and no response is in the log (CL-21, T10)', async (t) => {
  const bodies = [
    { access_token: 'canary-token', token_type: 'mac' },
    { access_token: 'canary-token', token_type: 'DPoP' },
    { access_token: ['canary-token'], token_type: 'bearer' },
    { error: 'invalid_target', error_description: 'canary-token' },
  ]
  for (const body of bodies) {
    const server = await startAuthorizationServer(t)
    server.tokenFaults.push((response) => {
      response.writeHead('error' in body ? 400 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    })
    signInUser(t)
    const { main } = await proxyWithLogin(t, server.target)
    const answer = await send(main, atMcp)
    assert.equal(answer.status, 503)
    assert.doesNotMatch(answer.body, /canary/)
    if ('error' in body) assert.match(answer.body, new RegExp(server.target))
    t.mock.restoreAll()
  }
})

test('an endpoint that is no URL counts as missing, before the user is prompted to sign in', async (t) => {
  const cases = [
    ['authorization_code', 'token_endpoint', /issuer_without_metadata/],
    ['authorization_code', 'registration_endpoint', /client_missing/],
    ['device_code', 'device_authorization_endpoint', /device_flow_unsupported/],
  ] as const
  const { urls } = signInUser(t)
  for (const [grant, endpoint, code] of cases) {
    for (const value of [null, '', '/token', 'ftp://issuer.example/', ['https://issuer.example/']]) {
      const server = await startAuthorizationServer(t)
      server.metadata = { [endpoint]: value }
      const { main } = await proxyWithLogin(t, server.target, { grant })
      assert.match((await send(main, atMcp)).body, code)
    }
  }
  assert.deepEqual(urls, [])
})

test('a reload during the discovery of a login prompts no user to sign in', async (t) => {
  const server = await startAuthorizationServer(t)
  const { listener } = server
  let goOn = (): void => {}
  const registering = new Promise<void>((resolve) => {
    Object.assign(server, {
      async listener(...[request, response]: Parameters<typeof listener>) {
        if (request.url === '/register') {
          resolve()
          await new Promise<void>((done) => {
            goOn = done
          })
        }
        return listener(request, response)
      },
    })
  })
  const { urls } = signInUser(t, () => {})
  const { main, running } = await proxyWithLogin(t, server.target, {}, {}, { drainLimit: 20 })
  const answer = send(main, call(1))
  await registering
  // The second waits until the first has ended what the list before it does.
  for (const _ of [1, 2])
    await running.swap([{ use: 'listen/http', with: { address: '127.0.0.1:0' } }, { use: 'auth/anonymous' }])
  goOn()
  assert.equal((await answer).status, 503)
  assert.deepEqual(urls, [])
})
