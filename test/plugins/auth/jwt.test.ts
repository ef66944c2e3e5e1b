import assert from 'node:assert/strict'
import { createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import { type CryptoKey, exportJWK, generateKeyPair, type JWTHeaderParameters, SignJWT } from 'jose'
import { authenticatorSuite, contractSuite, type Issuer, issuing } from 'sallyport/testing'
import { gate } from './jwt-gate.js'

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

test('RS-08 T14: `alg: none` is refused in every spelling', async (t) => {
  const issuer = await issuing(t)
  const { status } = await gate(t, issuer)
  for (const alg of ['none', 'None', 'NONE', 'nOnE', '']) {
    const unsigned = `${encoded({ alg })}.${encoded(issuer.claims())}.`
    assert.equal(await status(unsigned), 401, alg)
    assert.equal(await status(`${unsigned}AAAA`), 401, alg)
  }
})

test('RS-08 T14: HMAC with the public key as its secret is refused', async (t) => {
  const issuer = await issuing(t, { algorithm: 'RS256' })
  const { status } = await gate(t, issuer)
  const [jwk] = issuer.keys
  const publicKey = createPublicKey({ key: { ...jwk }, format: 'jwk' })
  const secrets = [
    publicKey.export({ type: 'spki', format: 'pem' }),
    publicKey.export({ type: 'spki', format: 'der' }),
    JSON.stringify(jwk),
  ]
  for (const secret of secrets) {
    const signed = `${encoded({ alg: 'HS256', kid: 'first' })}.${encoded(issuer.claims())}`
    const mac = createHmac('sha256', secret).update(signed).digest('base64url')
    assert.equal(await status(`${signed}.${mac}`), 401)
  }
  assert.equal(await status(await issuer.jwt()), 200)
})

test('RS-08 T14: a key in the token itself is never used', async (t) => {
  const issuer = await issuing(t)
  const { status } = await gate(t, issuer)
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = await exportJWK(publicKey)
  issuer.faults.set('/evil', (_request, response) =>
    response.end(JSON.stringify({ keys: [{ ...jwk, kid: 'evil' }] })),
  )
  const url = `${issuer.origin}/evil`

  const headers = [
    { jwk },
    { jku: url, kid: 'evil' },
    { x5u: url },
    { jwk, kid: 'first' },
    { jku: url, jwk, kid: 'first' },
  ]
  for (const header of headers) assert.equal(await status(await signedBy(privateKey, issuer, header)), 401)
  assert.equal(issuer.times('/evil'), 0)
})

test('RS-08: a signed header with a forbidden field is refused before and after its key was used', async (t) => {
  const headers = [{ crit: ['b64'], b64: true }, { typ: 'dpop+jwt' }]
  for (const wasUsed of [false, true]) {
    const issuer = await issuing(t)
    const { status } = await gate(t, issuer)
    if (wasUsed) assert.equal(await status(await issuer.jwt()), 200)
    for (const header of headers)
      assert.equal(await status(await issuer.jwt({ jti: JSON.stringify(header) }, header)), 401)
  }
})

for (const algorithm of ['RS256', 'RS512', 'PS256', 'ES256', 'ES384', 'EdDSA']) {
  test(`a token signed with ${algorithm} is accepted`, async (t) => {
    const issuer = await issuing(t, { algorithm })
    const { status } = await gate(t, issuer)
    assert.equal(await status(await issuer.jwt()), 200)
  })
}

test('an RSA key that is too short verifies nothing', async (t) => {
  const issuer = await issuing(t)
  for (const [modulusLength, expected] of [
    [1024, 401],
    [2048, 200],
  ] as const) {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength })
    issuer.keys = [{ ...publicKey.export({ format: 'jwk' }), kty: 'RSA', kid: 'rsa' }]
    const fresh = await gate(t, issuer)
    const signed = `${encoded({ alg: 'RS256', kid: 'rsa' })}.${encoded(issuer.claims())}`
    const signature = sign('sha256', Buffer.from(signed), privateKey).toString('base64url')
    assert.equal(await fresh.status(`${signed}.${signature}`), expected)
  }
})

test('a header may be JSON of any layout', async (t) => {
  const issuer = await issuing(t)
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  issuer.keys = [{ ...publicKey.export({ format: 'jwk' }), kty: 'RSA', kid: 'rsa' }]
  const { status } = await gate(t, issuer)
  const header = Buffer.from('\n{ "kid": "rsa",\n  "alg": "RS256" }').toString('base64url')
  for (const [claims, expected] of [
    [issuer.claims(), 200],
    [issuer.claims({ iss: 'https://elsewhere.example' }), 401],
  ] as const) {
    const signed = `${header}.${encoded(claims)}`
    const signature = sign('sha256', Buffer.from(signed), privateKey).toString('base64url')
    assert.equal(await status(`${signed}.${signature}`), expected)
  }
})

test('a token without `kid` is tried with every suitable key', async (t) => {
  const issuer = await issuing(t)
  await issuer.rotate('second')
  await issuer.rotate('third')
  const { status } = await gate(t, issuer)
  const { privateKey } = await generateKeyPair('ES256')

  assert.equal(await status(await issuer.jwt({}, { kid: undefined })), 200)
  assert.equal(await status(await signedBy(privateKey, issuer, {})), 401)
})

test('RS-12: tokens of another kind are refused, even when they are signed', async (t) => {
  const issuer = await issuing(t)
  const { status } = await gate(t, issuer)
  const kinds = ['token-introspection+jwt', 'dpop+jwt', 'logout+jwt', 'oauth-id-jag+jwt', 'secevent+jwt']
  for (const typ of kinds) {
    for (const each of [typ, `application/${typ}`, typ.toUpperCase()]) {
      assert.equal(await status(await issuer.jwt({}, { typ: each })), 401, each)
    }
  }
})

test('T14: a recognizable ID token is refused', async (t) => {
  const issuer = await issuing(t)
  const { status } = await gate(t, issuer)
  assert.equal(await status(await issuer.jwt({ at_hash: 'x' })), 401)
  for (const typ of ['ID', 'Refresh', 'Offline'])
    assert.equal(await status(await issuer.jwt({ typ })), 401, typ)
  assert.equal(await status(await issuer.jwt({ typ: 'Bearer' })), 200)
  for (const use of ['id', 'refresh_token', true]) {
    assert.equal(await status(await issuer.jwt({ token_use: use })), 401, String(use))
  }
  assert.equal(await status(await issuer.jwt({ token_use: 'access' })), 200)
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  assert.equal(await status(await issuer.jwt({ events })), 401)
})

test('T14: `acceptIdTokens` accepts ID tokens, and no other kind of token', async (t) => {
  const issuer = await issuing(t)
  const { status } = await gate(t, issuer, { acceptIdTokens: true })
  const hashed = { at_hash: 'x', c_hash: 'y' }
  for (const claims of [{}, hashed, { typ: 'ID' }, { token_use: 'id' }])
    assert.equal(await status(await issuer.jwt(claims, { typ: undefined })), 200, JSON.stringify(claims))
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  for (const claims of [{ typ: 'Refresh' }, { typ: 'Offline' }, { token_use: 'refresh_token' }, { events }])
    assert.equal(await status(await issuer.jwt({ ...hashed, ...claims })), 401, JSON.stringify(claims))
  assert.equal(await status(await issuer.jwt(hashed, { typ: 'logout+jwt' })), 401)
  assert.equal(await status(await issuer.jwt({ ...hashed, aud: 'another' })), 401)
})

test('RS-13: `typ: at+jwt` is accepted, and required with `requireAccessTokenType`', async (t) => {
  const issuer = await issuing(t)
  const usual = await gate(t, issuer)
  const strict = await gate(t, issuer, { requireAccessTokenType: true })
  for (const typ of ['at+jwt', 'application/at+jwt', 'AT+JWT']) {
    const token = await issuer.jwt({}, { typ })
    assert.deepEqual([await usual.status(token), await strict.status(token)], [200, 200], typ)
  }
  for (const typ of ['JWT', undefined]) {
    const token = await issuer.jwt({}, { typ })
    assert.deepEqual([await usual.status(token), await strict.status(token)], [200, 401], typ)
  }
})

test('RS-24: a token bound to a key is refused without proof of the key', async (t) => {
  const issuer = await issuing(t)
  const { status } = await gate(t, issuer)
  for (const cnf of [{ jkt: 'x' }, { 'x5t#S256': 'x' }, {}, 'x'])
    assert.equal(await status(await issuer.jwt({ cnf })), 401)
})

test('RS-05: every cause looks the same to the caller, and only the log names the cause', async (t) => {
  const issuer = await issuing(t)
  const { requestWith, lines } = await gate(t, issuer)
  const good = await issuer.jwt()
  const tokens = {
    foreign: await issuer.jwt({ iss: 'https://elsewhere.example' }),
    'claim:aud': await issuer.jwt({ aud: 'other' }),
    'claim:exp': await issuer.jwt({ exp: 1 }),
    'claim:nbf': await issuer.jwt({ nbf: 9_999_999_999 }),
    'claim:cnf': await issuer.jwt({ cnf: {} }),
    signature: `${good.slice(0, good.lastIndexOf('.'))}.${(await issuer.jwt({ sub: 'another' })).split('.')[2]}`,
    algorithm: `${encoded({ alg: 'none' })}.${encoded(issuer.claims())}.`,
    type: await issuer.jwt({}, { typ: 'dpop+jwt' }),
    key: await issuer.jwt({}, { kid: 'nobody' }),
    format: 'opaque',
  }
  const answers = new Set<string>()
  for (const [cause, token] of Object.entries(tokens)) {
    const answer = await requestWith(`Bearer ${token}`)
    const { request_id: _, ...body } = (await answer.json()) as Record<string, unknown>
    answers.add(JSON.stringify([answer.status, answer.headers.get('www-authenticate'), body]))
    const line = lines.filter(({ msg }) => msg === 'refused').at(-1)
    assert.deepEqual([line?.['provider'], line?.['cause']], ['corp', cause])
    assert.equal(typeof line?.['reqId'], 'string')
  }
  assert.equal(answers.size, 1)
  assert.equal(lines.filter(({ msg }) => msg === 'refused').length, Object.keys(tokens).length)
})

async function signedBy(
  key: CryptoKey,
  issuer: Issuer,
  header: Partial<JWTHeaderParameters>,
): Promise<string> {
  const protectedHeader = { alg: 'ES256', ...header } as JWTHeaderParameters
  return new SignJWT({ ...issuer.claims() }).setProtectedHeader(protectedHeader).sign(key)
}

contractSuite('auth/jwt', async (t) => {
  const issuer = await issuing(t)
  const list = [{ use: 'discovery/issuer' }, { use: 'auth/jwt', with: issuer.provider }]
  return { list, fixtures: { token: await issuer.jwt() } }
})

authenticatorSuite('auth/jwt', async (t) => {
  const issuer = await issuing(t)
  return {
    provider: issuer.url,
    audience: issuer.audience,
    entries: (issuerUrl) => [{ use: 'auth/jwt', with: { ...issuer.provider, issuerUrl } }],
    token: (claims) => issuer.jwt(claims),
  }
})
