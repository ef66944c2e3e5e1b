import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigError, GatewayError } from 'sallyport'
import { issuing } from 'sallyport/testing'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { authority } from '#kit/tls.js'
import { withOption } from '#plugins/auth/provider/egress.js'
import { gate, sentTo } from './provider-gate.js'

test('RS-23: a provider at a literal private address is refused at the start unless `allowPrivateIP` is set', async (t) => {
  const issuer = await issuing(t)
  const { introspectionUrl } = issuer
  const jwksUrl = 'https://idp.example.com/keys'
  for (const options of [{}, { jwksUrl, introspectionUrl }]) {
    const provider = { ...issuer.provider, ...options, allowPrivateIP: false }
    await assert.rejects(gate(t, provider), /allowPrivateIP .*: is needed/)
  }
  // With `jwksUrl` the issuer is only a name: it gets no request.
  await gate(t, { ...issuer.provider, jwksUrl, introspectionUrl: undefined, allowPrivateIP: false })
  assert.equal(issuer.asked.length, 0)
})

test('RS-38: the same rules hold for URLs in the discovery document', async (t) => {
  const issuer = await issuing(t)
  for (const jwks_uri of [
    'http://idp.example/keys',
    'file:///etc/passwd',
    'https://user:pass@idp.example/keys',
    7,
  ]) {
    issuer.metadata = { jwks_uri }
    const { status, cause } = await gate(t, issuer.provider)
    assert.equal(await status(await issuer.jwt()), 401, String(jwks_uri))
    assert.ok(['unreachable', 'answer'].includes(String(cause())), String(cause()))
  }
})

test('`authTokenFile` is sent to a configured `jwksUrl` and `introspectionUrl`, and read again when it changes', async (t) => {
  const issuer = await issuing(t)
  const authTokenFile = join(folder(t, { token: 'first-token\n' }), 'token')
  const { introspectionUrl } = issuer
  const jwksUrl = `${issuer.origin}/jwks`
  const options = { ...issuer.provider, jwksUrl, introspectionUrl, authTokenFile, introspectionCacheTtl: 0 }
  const { status } = await gate(t, options)
  assert.equal(await status(await issuer.jwt()), 200)
  assert.equal(await status(issuer.opaque()), 200)
  assert.deepEqual(sentTo(issuer, '/jwks'), ['Bearer first-token'])
  assert.deepEqual(sentTo(issuer, '/introspect'), ['Bearer first-token'])

  writeFileSync(authTokenFile, 'second-token')
  await eventually(async () => {
    assert.equal(await status(issuer.opaque()), 200)
    return sentTo(issuer, '/introspect').at(-1) === 'Bearer second-token' ? true : undefined
  })
})

test('with `clientId`, introspection uses Basic and key fetches use the token of `authTokenFile`', async (t) => {
  const issuer = await issuing(t)
  const authTokenFile = join(folder(t, { token: 'file-token' }), 'token')
  const { introspectionUrl } = issuer
  const jwksUrl = `${issuer.origin}/jwks`
  const client = { clientId: 'me', clientSecret: 'secret' }
  const { status } = await gate(t, {
    ...issuer.provider,
    jwksUrl,
    introspectionUrl,
    authTokenFile,
    ...client,
  })
  assert.equal(await status(await issuer.jwt()), 200)
  assert.equal(await status(issuer.opaque()), 200)
  assert.deepEqual(sentTo(issuer, '/jwks'), ['Bearer file-token'])
  assert.deepEqual(sentTo(issuer, '/introspect'), [`Basic ${Buffer.from('me:secret').toString('base64')}`])
})

test('`authTokenFile` is sent to discovered keys at the origin of the issuer, and nowhere else', async (t) => {
  const issuer = await issuing(t)
  const elsewhere = await issuing(t)
  const authTokenFile = join(folder(t, { token: 'file-token' }), 'token')
  const same = await gate(t, { ...issuer.provider, authTokenFile })
  assert.equal(await same.status(await issuer.jwt()), 200)
  assert.deepEqual(sentTo(issuer, '/.well-known/openid-configuration'), [undefined])
  assert.deepEqual(sentTo(issuer, '/jwks'), ['Bearer file-token'])

  elsewhere.keys = issuer.keys
  issuer.metadata = { jwks_uri: `${elsewhere.origin}/jwks` }
  const other = await gate(t, { ...issuer.provider, authTokenFile })
  assert.equal(await other.status(await issuer.jwt()), 200)
  assert.deepEqual(sentTo(elsewhere, '/jwks'), [undefined])
})

test('T11: no credential follows a redirect', async (t) => {
  const issuer = await issuing(t)
  const elsewhere = await issuing(t)
  const authTokenFile = join(folder(t, { token: 'file-token' }), 'token')
  for (const path of ['/jwks', '/introspect']) {
    issuer.faults.set(path, (_request, response) =>
      response.writeHead(307, { location: `${elsewhere.origin}${path}` }).end(),
    )
  }
  const { introspectionUrl } = issuer
  const jwksUrl = `${issuer.origin}/jwks`
  const { status } = await gate(t, { ...issuer.provider, jwksUrl, introspectionUrl, authTokenFile })
  assert.equal(await status(await issuer.jwt()), 401)
  assert.equal(await status(issuer.opaque()), 401)
  assert.equal(elsewhere.asked.length, 0)
})

test('`caCertPath` is read again when it changes', async (t) => {
  const [right, wrong] = [authority(t), authority(t)]
  const issuer = await issuing(t, { tls: right.issue(['localhost']) })
  const caCertPath = join(folder(t, { 'ca.pem': wrong.certificate }), 'ca.pem')
  const { status, cause } = await gate(t, { ...issuer.provider, caCertPath })
  assert.equal(await status(await issuer.jwt()), 401)
  assert.equal(cause(), 'unreachable')

  writeFileSync(caCertPath, right.certificate)
  await eventually(async () => ((await status(await issuer.jwt())) === 200 ? true : undefined))
})

test('for a provider that cannot be reached, the cause is logged', async (t) => {
  const [ca, other] = [authority(t), authority(t)]
  const issuer = await issuing(t, { tls: ca.issue(['localhost']) })
  const { introspectionUrl } = issuer
  const { status, refused } = await gate(t, { ...issuer.provider, introspectionUrl, caCertPath: other.file })
  for (const token of [await issuer.jwt(), issuer.opaque()]) {
    assert.equal(await status(token), 401)
    assert.match(JSON.stringify(refused()?.['reasons']), /not trusted here; caCertPath may be missing/)
  }
})

test('RS-31: no secret reaches the log at any level', async (t) => {
  const issuer = await issuing(t)
  const secrets = { token: 'canary-file-token', secret: 'canary-client-secret' }
  const files = folder(t, secrets)
  const { introspectionUrl } = issuer
  const options = {
    ...issuer.provider,
    introspectionUrl,
    clientId: 'me',
    clientSecretFile: join(files, 'secret'),
    authTokenFile: join(files, 'token'),
  }
  const { status, lines } = await gate(t, options)
  const tokens = [
    await issuer.jwt(),
    await issuer.jwt({ aud: 'x' }),
    issuer.opaque(),
    issuer.opaque({ exp: 1 }),
  ]
  for (const token of tokens) await status(token)
  for (const [path, text] of [
    ['/jwks', 'canary-file-token'],
    ['/introspect', 'canary-client-secret'],
  ] as const) {
    issuer.faults.set(path, (_request, response) => response.writeHead(500, text).end(text))
  }
  for (const token of [await issuer.jwt({}, { kid: 'other' }), 'canary-opaque']) await status(token)

  const written = JSON.stringify(lines)
  assert.ok(written.length > 500)
  for (const secret of [...tokens, ...tokens.map((token) => token.slice(-20)), 'canary']) {
    assert.equal(written.includes(secret), false, secret)
  }
})

test('an error of another kind names no option', () => {
  const options = { SECRET_EMPTY: 'authTokenFile' }
  const empty = withOption(new GatewayError('SECRET_EMPTY', 'the secret is empty'), options)
  assert.ok(empty instanceof ConfigError)
  assert.deepEqual(empty.problems, [{ place: 'authTokenFile', message: 'the secret is empty' }])
  for (const error of [new GatewayError('OTHER', 'no'), new Error('no'), undefined])
    assert.equal(withOption(error, options), error)
})
