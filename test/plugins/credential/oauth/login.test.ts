import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { eventually } from '../../../kit/captured-log.js'
import { asking, call } from '../../forward/proxied.js'
import { authorizing } from './authorization-server.js'
import { person, signingIn } from './signing-in.js'

const atMcp = { ...call(1), path: '/' }

test('a login goes from the challenge to a token, and each step is bound to the next (CL-01, CL-05, CL-08, CL-14, CL-18, CL-24)', async (t) => {
  const server = await authorizing(t)
  person(t)
  const { main } = await signingIn(t, server.target, { login: 'start' })

  const headers = { ...atMcp.headers, authorization: 'Bearer mine' }
  const { status, body } = await asking(main, { ...atMcp, headers })
  assert.equal(status, 200)

  const [registered] = server.at('/register')
  const asked = JSON.parse(registered?.body ?? '{}')
  const [page] = server.at('/authorize')
  const [token] = server.at('/token')
  const redirectUri = page?.query.get('redirect_uri')
  assert.match(redirectUri ?? '', /^http:\/\/127\.0\.0\.1:\d+\/callback$/)
  assert.deepEqual(asked.redirect_uris, [redirectUri])
  assert.deepEqual(asked.grant_types, ['authorization_code', 'refresh_token'])
  assert.deepEqual(asked.response_types, ['code'])
  assert.deepEqual([asked.application_type, asked.token_endpoint_auth_method], ['native', 'none'])

  const verifier = token?.form.get('code_verifier') ?? ''
  assert.match(verifier, /^[\w.~-]{43,128}$/)
  assert.equal(page?.query.get('code_challenge_method'), 'S256')
  assert.equal(page?.query.get('code_challenge'), createHash('sha256').update(verifier).digest('base64url'))
  assert.equal(token?.form.get('redirect_uri'), redirectUri)
  assert.deepEqual([page?.query.get('resource'), token?.form.get('resource')], [server.target, server.target])
  assert.deepEqual([page?.query.get('client_id'), token?.form.get('client_id')], ['registered', 'registered'])
  assert.equal(page?.query.has('scope'), false)
  // The document below the target's path is there, so the root is never asked.
  assert.equal(server.times('/.well-known/oauth-protected-resource'), 0)

  const sent = server.at('/mcp').map((seen) => seen.headers.authorization)
  assert.ok(!sent.includes('Bearer mine'))
  assert.match(JSON.parse(body).authorization, /^Bearer [\da-f]{32}$/)
})

test('without --remote-auth the first 401 begins the login, and whoever comes meanwhile shares it (CL-12)', async (t) => {
  const server = await authorizing(t)
  const { urls } = person(t)
  const { main } = await signingIn(t, server.target)

  const answers = await Promise.all(Array.from({ length: 20 }, () => asking(main, atMcp)))
  assert.deepEqual(
    answers.map(({ status }) => status),
    answers.map(() => 200),
  )
  assert.deepEqual([urls.length, server.times('/authorize'), server.times('/token')], [1, 1, 1])
})

test('a target that wants no token never sees a login, and its own refusals pass', async (t) => {
  const server = await authorizing(t)
  const { urls } = person(t)
  const { main } = await signingIn(t, `${server.origin}/nowhere`)

  assert.equal((await asking(main, atMcp)).status, 404)
  assert.equal(urls.length, 0)
})

test('the scopes are the operator’s, else the challenge’s, else the resource’s, else none (CL-09, CL-10)', async (t) => {
  const place = '/.well-known/oauth-protected-resource/mcp'
  const cases = [
    { options: { scopes: ['a', 'b'] }, challenged: 'c', supported: ['d'], expected: 'a b' },
    { options: {}, challenged: 'c e', supported: ['d'], expected: 'c e' },
    { options: {}, challenged: undefined, supported: ['d'], expected: 'd' },
    { options: {}, challenged: undefined, supported: undefined, expected: null },
  ]
  for (const { options, challenged, supported, expected } of cases) {
    const server = await authorizing(t)
    const scope = challenged === undefined ? '' : `, scope="${challenged}"`
    server.challenge = `Bearer resource_metadata="${server.origin}${place}"${scope}`
    server.resource = { scopes_supported: supported }
    person(t)
    const { main } = await signingIn(t, server.target, options)
    assert.equal((await asking(main, atMcp)).status, 200)
    assert.equal(server.at('/authorize')[0]?.query.get('scope'), expected)
    t.mock.restoreAll()
  }
})

test('a named issuer asks for the scopes of OpenID, and for a lasting login where it offers one (CL-09, CL-10)', async (t) => {
  const server = await authorizing(t)
  server.metadata = { scopes_supported: ['openid', 'offline_access'] }
  person(t)
  const { main } = await signingIn(t, server.target, { issuer: server.origin })

  assert.equal((await asking(main, atMcp)).status, 200)
  const query = server.at('/authorize')[0]?.query
  assert.equal(query?.get('scope'), 'openid profile email offline_access')
  assert.equal(query?.get('prompt'), 'consent')
  assert.equal(server.times('/.well-known/oauth-protected-resource/mcp'), 0)
})

test('plain OAuth by two URLs, the scopes under another name, and no resource (CL-08)', async (t) => {
  const server = await authorizing(t)
  person(t)
  const options = {
    authorizationUrl: `${server.origin}/authorize?tenant=a&b=c`,
    tokenUrl: `${server.origin}/token`,
    scopes: ['x', 'y'],
    scopeParameter: 'user_scope',
    resource: '',
  }
  const registrars = [{ use: 'registrar/given', with: { clientId: 'mine', clientSecret: 'my secret' } }]
  const { main } = await signingIn(t, server.target, options, { registrars })

  assert.equal((await asking(main, atMcp)).status, 200)
  const { query } = server.at('/authorize')[0] ?? {}
  assert.deepEqual([query?.get('tenant'), query?.get('b'), query?.get('user_scope')], ['a', 'c', 'x y'])
  assert.deepEqual([query?.has('scope'), query?.has('resource')], [false, false])
  const [{ form, headers } = { form: new URLSearchParams(), headers: {} }] = server.at('/token')
  const pair = Buffer.from(headers.authorization?.slice(6) ?? '', 'base64').toString()
  assert.deepEqual([pair, form.has('client_secret'), form.has('resource')], ['mine:my+secret', false, false])
  assert.equal(server.times('/.well-known/oauth-authorization-server'), 0)
})

test('a target of 2025-03-26 is its own authorization server, also without any metadata', async (t) => {
  const documents = ['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-authorization-server']
  for (const missing of [documents.slice(0, 1), documents]) {
    const server = await authorizing(t)
    server.challenge = 'Bearer'
    for (const path of missing) server.missing.add(path)
    person(t)
    const { main } = await signingIn(t, server.target)
    assert.equal((await asking(main, atMcp)).status, 200)
    assert.deepEqual([server.times('/register'), server.times('/authorize')], [1, 1])
    t.mock.restoreAll()
  }
})

test('documents of another resource or issuer end it before a client is registered (CL-02, CL-04, CL-05)', async (t) => {
  const elsewhere = await authorizing(t)
  const cases: readonly { resource?: object; metadata?: object }[] = [
    { resource: { resource: elsewhere.target } },
    { resource: { resource: 'https://127.0.0.1/mcp' } },
    { resource: { authorization_servers: ['http://127.0.0.1:1'] } },
    { metadata: { code_challenge_methods_supported: undefined } },
    { metadata: { code_challenge_methods_supported: ['plain'] } },
  ]
  for (const { resource = {}, metadata = {} } of cases) {
    const server = await authorizing(t)
    Object.assign(server, { resource, metadata })
    const { urls } = person(t)
    const { main } = await signingIn(t, server.target)
    const { status } = await asking(main, atMcp)
    assert.ok(status === 502 || status === 503, JSON.stringify({ resource, metadata, status }))
    assert.deepEqual([urls.length, server.times('/register'), server.times('/token')], [0, 0, 0])
    t.mock.restoreAll()
  }
})

test('an issuer is compared as bytes: a slash makes another (CL-04)', async (t) => {
  const server = await authorizing(t)
  server.resource = { authorization_servers: [`${server.origin}/`] }
  person(t)
  const { main, lines } = await signingIn(t, server.target)
  assert.equal((await asking(main, atMcp)).status, 502)
  assert.match(JSON.stringify(lines), /ISSUER_MISMATCH/)
  assert.equal(server.times('/register'), 0)
})

test('a token that is no bearer token is never used, and no answer is in the log (CL-21, T10)', async (t) => {
  const bodies = [
    { access_token: 'canary-token', token_type: 'mac' },
    { access_token: 'canary-token', token_type: 'DPoP' },
    { access_token: ['canary-token'], token_type: 'bearer' },
    { error: 'invalid_target', error_description: 'canary-token' },
  ]
  for (const body of bodies) {
    const server = await authorizing(t)
    server.tokenFaults.push((response) => {
      response.writeHead('error' in body ? 400 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    })
    person(t)
    const { main } = await signingIn(t, server.target)
    const answer = await asking(main, atMcp)
    assert.equal(answer.status, 503)
    assert.doesNotMatch(answer.body, /canary/)
    if ('error' in body) assert.match(answer.body, new RegExp(server.target))
    t.mock.restoreAll()
  }
})

test('no token, code, verifier or state reaches the log (T10)', async (t) => {
  const server = await authorizing(t)
  server.registration = { client_secret: 'canary-secret', client_secret_expires_at: 0 }
  const { urls } = person(t)
  const { main, lines } = await signingIn(t, server.target, { login: 'start' })
  assert.equal((await asking(main, atMcp)).status, 200)

  const log = JSON.stringify(lines)
  const token = await eventually(() => server.at('/mcp').at(-1)?.headers.authorization?.slice(7))
  const form = server.at('/token')[0]?.form
  const secrets = [
    token,
    form?.get('code'),
    form?.get('code_verifier'),
    new URL(urls[0] ?? '').searchParams.get('state'),
  ]
  for (const secret of [...secrets, 'canary-secret']) {
    assert.ok(typeof secret === 'string' && secret.length > 8)
    assert.ok(!log.includes(secret), secret)
  }
})
