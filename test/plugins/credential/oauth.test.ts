import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { call, send } from '../forward/proxied.js'
import { startAuthorizationServer } from './oauth/authorization-server.js'
import { proxyWithLogin, signInUser } from './oauth/proxy-with-login.js'

const atMcp = { ...call(1), path: '/' }

test('a login goes from the challenge to a token, with PKCE, state and resource (CL-01, CL-05, CL-08, CL-14, CL-18, CL-24)', async (t) => {
  const server = await startAuthorizationServer(t)
  signInUser(t)
  const { main } = await proxyWithLogin(t, server.target, { login: 'start' })

  const headers = { ...atMcp.headers, authorization: 'Bearer mine' }
  const { status, body } = await send(main, { ...atMcp, headers })
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
  // The metadata for the target's path exists, so that of the origin is never requested.
  assert.equal(server.times('/.well-known/oauth-protected-resource'), 0)

  const sent = server.at('/mcp').map((seen) => seen.headers.authorization)
  assert.ok(!sent.includes('Bearer mine'))
  assert.match(JSON.parse(body).authorization, /^Bearer [\da-f]{32}$/)
})

test('without --remote-auth the first 401 begins the login, and concurrent requests share it (CL-12)', async (t) => {
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t)
  const { main } = await proxyWithLogin(t, server.target)

  const answers = await Promise.all(Array.from({ length: 20 }, () => send(main, atMcp)))
  assert.deepEqual(
    answers.map(({ status }) => status),
    answers.map(() => 200),
  )
  assert.deepEqual([urls.length, server.times('/authorize'), server.times('/token')], [1, 1, 1])
})

test('for a target that needs no token there is no login, and its errors are forwarded', async (t) => {
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t)
  const { main } = await proxyWithLogin(t, `${server.origin}/nowhere`)

  assert.equal((await send(main, atMcp)).status, 404)
  assert.equal(urls.length, 0)
})

test('no token, code, verifier or state reaches the log (T10)', async (t) => {
  const server = await startAuthorizationServer(t)
  server.registration = { client_secret: 'canary-secret', client_secret_expires_at: 0 }
  const { urls } = signInUser(t)
  const { main, lines } = await proxyWithLogin(t, server.target, { login: 'start' })
  assert.equal((await send(main, atMcp)).status, 200)

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
