import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { generateKeyPair, SignJWT } from 'jose'
import {
  authenticatorSuite,
  booted,
  contractSuite,
  gatewayWith,
  type Issuer,
  issuing,
  protectedRoute,
} from 'sallyport/testing'
import { folder } from '#kit/folder.js'

async function gate(t: TestContext, issuer: Issuer, options: Readonly<Record<string, unknown>> = {}) {
  const { introspectionUrl } = issuer
  const { requestWith, lines } = await gatewayWith(t, [
    { use: 'auth/oidc', with: { ...issuer.provider, introspectionUrl, ...options } },
  ])
  const status = async (token: string) => (await requestWith(`Bearer ${token}`)).status
  const cause = () => lines.filter(({ msg }) => msg === 'refused').at(-1)?.['cause']
  return { status, cause, lines, asked: () => issuer.asked.filter(({ path }) => path === '/introspect') }
}

const json =
  (status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): RequestListener =>
  (_request, response) =>
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof value === 'string' ? value : JSON.stringify(value))

test('RS-15: introspection is a POST form with Basic credentials, form-encoded, and nothing in the URL', async (t) => {
  const issuer = await issuing(t)
  const clientSecretFile = join(folder(t), 'secret')
  writeFileSync(clientSecretFile, 'p:ä s%+\n', { mode: 0o600 })
  const { status, asked } = await gate(t, issuer, { clientId: 'id:with colon', clientSecretFile })
  const token = issuer.opaque()

  assert.equal(await status(token), 200)
  const [{ method, path, headers, body } = { method: '', path: '', headers: {}, body: '' }] = asked()
  assert.deepEqual([method, path], ['POST', '/introspect'])
  assert.equal(headers['content-type'], 'application/x-www-form-urlencoded')
  assert.equal(headers.accept, 'application/json')
  assert.deepEqual(Object.fromEntries(new URLSearchParams(body)), { token, token_type_hint: 'access_token' })
  const pair = Buffer.from(String(headers.authorization).replace('Basic ', ''), 'base64').toString()
  assert.equal(pair, 'id%3Awith+colon:p%3A%C3%A4+s%25%2B')
})

test('RS-15: a client without a secret sends its ID in the form', async (t) => {
  const issuer = await issuing(t)
  const { status, asked } = await gate(t, issuer, { clientId: 'public' })
  assert.equal(await status(issuer.opaque()), 200)
  assert.equal(new URLSearchParams(asked()[0]?.body).get('client_id'), 'public')
  assert.equal(asked()[0]?.headers.authorization, undefined)
})

test('`clientSecretFile` is read again when it changes', async (t) => {
  const issuer = await issuing(t)
  const clientSecretFile = join(folder(t), 'secret')
  writeFileSync(clientSecretFile, 'first', { mode: 0o600 })
  const { status, asked } = await gate(t, issuer, { clientId: 'me', clientSecretFile })
  const sent = () => Buffer.from(String(asked().at(-1)?.headers.authorization).slice(6), 'base64').toString()
  await status(issuer.opaque())
  assert.equal(sent(), 'me:first')

  writeFileSync(clientSecretFile, 'second', { mode: 0o600 })
  for (const end = Date.now() + 5000; sent() !== 'me:second' && Date.now() < end; )
    await status(issuer.opaque())
  assert.equal(sent(), 'me:second')
})

test('RS-16: only `active: true` in a JSON response with status 200 is accepted', async (t) => {
  const issuer = await issuing(t)
  const good = { ...issuer.claims(), active: true }
  const { status, lines } = await gate(t, issuer, { introspectionCacheTtl: 0 })
  const refused: Readonly<Record<string, RequestListener>> = {
    text: json(200, { ...good, active: 'true' }),
    number: json(200, { ...good, active: 1 }),
    missing: json(200, { ...good, active: undefined }),
    null: json(200, { ...good, active: null }),
    false: json(200, { ...good, active: false }),
    list: json(200, [good]),
    broken: json(200, '{"active":true'),
    'no content type': (_request, response) => response.writeHead(200).end(JSON.stringify(good)),
    'RS-20 a JWT': json(200, good, { 'content-type': 'application/token-introspection+jwt' }),
    201: json(201, good),
    400: json(400, good),
    403: json(403, good),
    500: json(500, good),
    redirect: json(307, good, { location: `${issuer.origin}/elsewhere` }),
  }
  for (const [name, listener] of Object.entries(refused)) {
    issuer.faults.set('/introspect', listener)
    assert.equal(await status('opaque'), 401, name)
  }
  issuer.faults.delete('/introspect')
  assert.equal(issuer.times('/elsewhere'), 0)
  assert.equal(lines.filter(({ msg }) => msg === 'a request failed').length, 0)
})

test('RS-17: a response without `iss` or `aud` is refused, unless an option allows it', async (t) => {
  const issuer = await issuing(t)
  const strict = await gate(t, issuer)
  const noIssuer = await gate(t, issuer, { requireIssuer: false })
  const noAudience = await gate(t, issuer, { requireAudience: false })
  const statuses = (token: string) =>
    Promise.all([strict.status(token), noIssuer.status(token), noAudience.status(token)])

  assert.deepEqual(await statuses(issuer.opaque()), [200, 200, 200])
  assert.deepEqual(await statuses(issuer.opaque({ iss: undefined })), [401, 200, 401])
  assert.deepEqual(await statuses(issuer.opaque({ aud: undefined })), [401, 401, 200])
  // If present, they must be valid all the same.
  assert.deepEqual(await statuses(issuer.opaque({ iss: 'https://other.example' })), [401, 401, 401])
  assert.deepEqual(await statuses(issuer.opaque({ aud: 'other' })), [401, 401, 401])
  assert.deepEqual(await statuses(issuer.opaque({ exp: undefined })), [200, 200, 200])
})

test('T14: an active token that is recognizably not an access token is refused', async (t) => {
  const issuer = await issuing(t)
  const { status, cause } = await gate(t, issuer)
  for (const claims of [{ token_use: 'refresh_token' }, { typ: 'Refresh' }, { at_hash: 'x' }]) {
    assert.equal(await status(issuer.opaque(claims)), 401, JSON.stringify(claims))
    assert.equal(cause(), 'type')
  }
  assert.equal(await status(issuer.opaque({ token_use: 'access_token', typ: 'Bearer' })), 200)
})

test('RS-18: a revocation is seen within the cache time, which is 30 s at most', async (t) => {
  const issuer = await issuing(t)
  const usual = await gate(t, issuer)
  const short = await gate(t, issuer, { introspectionCacheTtl: '10s' })
  const never = await gate(t, issuer, { introspectionCacheTtl: 0 })
  const start = Date.now()
  t.mock.timers.enable({ apis: ['Date'], now: start })
  const token = issuer.opaque()
  const statuses = async () => [
    await usual.status(token),
    await short.status(token),
    await never.status(token),
  ]
  assert.deepEqual(await statuses(), [200, 200, 200])
  issuer.setIntrospection(token, { active: false })

  assert.deepEqual(await statuses(), [200, 200, 401])
  t.mock.timers.setTime(start + 10_001)
  assert.deepEqual(await statuses(), [200, 401, 401])
  t.mock.timers.setTime(start + 30_001)
  assert.deepEqual(await statuses(), [401, 401, 401])
  await assert.rejects(gate(t, issuer, { introspectionCacheTtl: '31s' }), { code: 'CONFIG_INVALID' })
})

test('RS-18: a response is never cached past its `exp`', async (t) => {
  const issuer = await issuing(t)
  const { status, asked } = await gate(t, issuer)
  const now = Math.floor(Date.now() / 1000)
  t.mock.timers.enable({ apis: ['Date'], now: now * 1000 })
  const token = issuer.opaque({ exp: now + 5 })
  assert.equal(await status(token), 200)
  t.mock.timers.setTime((now + 5) * 1000)
  assert.equal(await status(token), 401)
  assert.equal(asked().length, 2)
})

test('a rejection is cached for five seconds, and no longer', async (t) => {
  const issuer = await issuing(t)
  const { status, asked } = await gate(t, issuer)
  const start = Date.now()
  t.mock.timers.enable({ apis: ['Date'], now: start })
  for (let count = 0; count < 5; count++) assert.equal(await status('soon'), 401)
  assert.equal(asked().length, 1)

  issuer.setIntrospection('soon', { active: true, ...issuer.claims() })
  t.mock.timers.setTime(start + 5001)
  assert.equal(await status('soon'), 200)
})

test('fifty requests with one token cause one introspection', async (t) => {
  const issuer = await issuing(t)
  const { introspectionUrl } = issuer
  const options = { ...issuer.provider, introspectionUrl, introspectionCacheTtl: 0 }
  const app = await booted(t, [{ use: 'auth/introspection', with: options }, { use: protectedRoute }])
  const headers = { authorization: `Bearer ${issuer.opaque()}` }

  const answers = await Promise.all(Array.from({ length: 50 }, () => app.inject({ url: '/closed', headers })))
  assert.deepEqual(new Set(answers.map(({ statusCode }) => statusCode)), new Set([200]))
  assert.equal(issuer.times('/introspect'), 1)
})

test('RS-19: any other response of the provider is a rejection with a cause', async (t) => {
  const issuer = await issuing(t)
  const { status, cause } = await gate(t, issuer)
  const answers: readonly (readonly [RequestListener, string])[] = [
    [json(400, { error: 'unsupported_token_type' }), 'introspection:unsupported'],
    [json(401, { error: 'invalid_client' }), 'introspection:refused'],
    [json(400, { error: 'invalid_request' }), 'introspection:refused'],
    [json(500, {}), 'introspection:failed'],
    [json(429, {}), 'introspection:failed'],
  ]
  for (const [index, [listener, expected]] of answers.entries()) {
    issuer.faults.set('/introspect', listener)
    assert.equal(await status(`opaque-${index}`), 401)
    assert.equal(cause(), expected)
  }
})

test('RS-19: when the provider refuses the client of the gateway, no response calls a token invalid', async (t) => {
  const issuer = await issuing(t)
  const { introspectionUrl } = issuer
  const { requestWith } = await gatewayWith(t, [
    { use: 'auth/oidc', with: { ...issuer.provider, introspectionUrl } },
  ])
  for (const refusal of [json(401, {}), json(403, {}), json(400, { error: 'invalid_client' })]) {
    issuer.faults.set('/introspect', refusal)
    const response = await requestWith(`Bearer ${issuer.opaque()}`)
    assert.equal(response.status, 401)
    assert.equal(Object(await response.json()).error, 'authentication_unavailable')
  }
})

test('introspection never overrules an invalid JWT, and never gets a JWT of another issuer', async (t) => {
  const issuer = await issuing(t)
  const { status, asked } = await gate(t, issuer)
  issuer.faults.set('/introspect', json(200, { active: true, ...issuer.claims() }))
  const good = await issuer.jwt()
  const definite = [
    await issuer.jwt({ exp: 1 }),
    await issuer.jwt({ aud: 'other' }),
    `${good.slice(0, good.lastIndexOf('.'))}.${(await issuer.jwt({ sub: 'x' })).split('.')[2]}`,
    await issuer.jwt({}, { typ: 'logout+jwt' }),
    await issuer.jwt({ iss: 'https://elsewhere.example' }),
    await issuer.jwt({ iss: `${issuer.url}/` }),
  ]
  for (const token of definite) assert.equal(await status(token), 401)
  assert.equal(asked().length, 0)
})

test('a JWT of this issuer that cannot be verified locally is introspected', async (t) => {
  const issuer = await issuing(t)
  const { status, asked } = await gate(t, issuer)
  const { privateKey } = await generateKeyPair('ES256')
  const unknownKey = await new SignJWT({ ...issuer.claims() })
    .setProtectedHeader({ alg: 'ES256', kid: 'nobody' })
    .sign(privateKey)
  const hmac = await new SignJWT({ ...issuer.claims() })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(Buffer.alloc(32, 1))
  const withoutIssuer = await issuer.jwt({ iss: undefined })
  const tokens = [unknownKey, hmac, withoutIssuer]
  for (const token of tokens) assert.equal(await status(token), 401)
  assert.equal(asked().length, 3)

  for (const token of tokens) issuer.setIntrospection(`${token}`, { active: true, ...issuer.claims() })
  issuer.faults.set('/jwks', json(500, {}))
  const fresh = await gate(t, issuer)
  for (const token of tokens) assert.equal(await fresh.status(token), 200)
})

test('RS-24: a token that is bound by its introspection response is refused', async (t) => {
  const issuer = await issuing(t)
  const { status } = await gate(t, issuer)
  assert.equal(await status(issuer.opaque({ cnf: { jkt: 'x' }, token_type: 'DPoP' })), 401)
  for (const type of ['DPoP', 'dpop']) assert.equal(await status(issuer.opaque({ token_type: type })), 401)
  for (const type of ['Bearer', 'bearer', 'access_token', undefined])
    assert.equal(await status(issuer.opaque({ token_type: type })), 200)
})

test('a provider that is down gets one request at a time, and the next provider works', async (t) => {
  const silent = await issuing(t)
  silent.faults.set('/introspect', (request) => request.socket.destroy())
  const issuer = await issuing(t)
  const entry = (each: Issuer, name: string) => ({
    use: 'auth/introspection',
    id: name,
    with: { ...each.provider, name, introspectionUrl: each.introspectionUrl },
  })
  const { requestWith } = await gatewayWith(t, [entry(silent, 'silent'), entry(issuer, 'corp')])
  for (let count = 0; count < 100; count++) {
    assert.equal((await requestWith(`Bearer ${issuer.opaque()}`)).status, 200)
  }
  assert.ok(silent.times('/introspect') <= 3, `${silent.times('/introspect')} times`)
})

contractSuite('auth/introspection', async (t) => {
  const issuer = await issuing(t)
  const settings = { ...issuer.provider, introspectionUrl: issuer.introspectionUrl }
  return { list: [{ use: 'auth/introspection', with: settings }], fixtures: { token: issuer.opaque() } }
})

authenticatorSuite('auth/introspection', async (t) => {
  const issuer = await issuing(t)
  return {
    provider: issuer.url,
    audience: issuer.audience,
    entries: (issuerUrl) => [
      {
        use: 'auth/introspection',
        with: { ...issuer.provider, issuerUrl, introspectionUrl: `${issuerUrl}/introspect` },
      },
    ],
    token: (claims) => issuer.opaque(claims),
  }
})
