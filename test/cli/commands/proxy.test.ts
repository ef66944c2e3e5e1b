import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readProxySettings } from '#cli/commands/proxy.js'
import { program } from '../../kit/program.js'
import { placesOf, proxied } from '../parsed.js'

function read(flags: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const { invocation, problems } = proxied(flags, environment)
  assert.ok(invocation !== undefined, placesOf({ problems }).join())
  return readProxySettings(invocation)
}

function refused(flags: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const outcome = read(flags, environment)
  return 'problems' in outcome ? placesOf(outcome) : []
}

const issuer = ['--oidc-issuer', 'https://idp.example/']
const audience = ['--oidc-audience', 'mcp']

test('a target alone is a whole proxy', () => {
  const outcome = read([])

  assert.ok('settings' in outcome)
  const { settings } = outcome
  assert.equal(settings.name, 'name')
  assert.equal(settings.targetUri, 'https://target.example')
  assert.equal(settings.host, '127.0.0.1')
  assert.equal(settings.port, 0)
  assert.equal(settings.allowedOrigins, undefined)
  assert.equal(settings.oidcIssuer, undefined)
  assert.equal(settings.remoteAuthBearerToken, undefined)
})

test('the ready line says where health and metrics are, when they have a port', async (t) => {
  const target = 'https://target.example/mcp'
  const argv = ['proxy', 'mine', '--target-uri', target]
  const [plain, watched] = [program(t, argv), program(t, [...argv, '--internal-address', '127.0.0.1:0'])]
  const main = await plain.ready()
  assert.equal(plain.output.stdout, `sallyport proxy "mine" listening on ${main} -> ${target}\n`)
  await watched.ready()
  const [, internal = ''] = /-> \S+ \(health and metrics on (http:\S+)\)\n$/.exec(watched.output.stdout) ?? []
  assert.equal((await fetch(new URL('/health', internal))).status, 200)
})

test('an empty list of origins is not the same as none given', () => {
  const outcome = read(['--allowed-origins', ''])

  assert.deepEqual('settings' in outcome && outcome.settings.allowedOrigins, [])
})

test('the issuer reaches the settings byte for byte', () => {
  const outcome = read([...issuer, ...audience])

  assert.equal('settings' in outcome && outcome.settings.oidcIssuer, 'https://idp.example/')
})

test('claims are for headers of a caller that was checked', () => {
  const flags = ['--remote-forward-claims', 'X-User=sub', '--remote-forward-claims=X-Mail=email']
  const outcome = read([...issuer, ...audience, ...flags])

  assert.deepEqual('settings' in outcome && outcome.settings.remoteForwardClaims, [
    ['X-User', 'sub'],
    ['X-Mail', 'email'],
  ])
  assert.deepEqual(refused(flags), ['--remote-forward-claims'])
})

test('an issuer needs an audience, or a word that any will do', () => {
  assert.deepEqual(refused(issuer), ['--oidc-audience'])
  assert.deepEqual(refused([...issuer, '--oidc-any-audience']), [])
  assert.deepEqual(refused([...issuer, ...audience, '--oidc-any-audience']), ['--oidc-any-audience'])
})

test('whoever asks for a check of tokens without an issuer is told that there is none', () => {
  const flags = [
    ...audience,
    '--oidc-jwks-url',
    'https://idp.example/jwks',
    '--oidc-introspection-url=https://a',
    '--oidc-allow-private-ip',
  ]

  assert.deepEqual(refused(flags).toSorted(), [
    '--oidc-allow-private-ip',
    '--oidc-audience',
    '--oidc-introspection-url',
    '--oidc-jwks-url',
  ])
  assert.deepEqual(refused([], { SALLYPORT_OIDC_AUDIENCE: 'mcp' }), ['SALLYPORT_OIDC_AUDIENCE'])
  assert.deepEqual(refused(['--oidc-scopes', 'a']), [])
})

test('a client secret needs its client', () => {
  assert.deepEqual(refused([...issuer, ...audience, '--oidc-client-secret-file', 'x']), [
    '--oidc-client-secret-file',
  ])
})

test('of endpoints without discovery only what is not there is called missing', () => {
  const page = ['--remote-auth-authorize-url', 'https://idp.example/authorize']
  const token = ['--remote-auth-token-url', 'https://idp.example/token']

  assert.deepEqual(refused([...page, ...token]), ['--remote-auth-client-id'])
  assert.deepEqual(refused(page), ['--remote-auth-token-url'])
  assert.deepEqual(refused([...token, '--remote-auth-client-id', 'c']), ['--remote-auth-authorize-url'])
})

test('a target with a query is refused', () => {
  const { invocation } = proxied([])
  assert.ok(invocation !== undefined)
  const given = new Map(invocation.given)
  given.set('target-uri', { value: 'https://t.example/?a', source: 'flag', place: '--target-uri' })

  const outcome = readProxySettings({ ...invocation, given })
  assert.deepEqual('problems' in outcome && placesOf(outcome), ['--target-uri'])
})

test('credentials are not lent to a network without a check of who comes in', () => {
  const lent = [
    ['--remote-auth-bearer-token', 'x'],
    ['--remote-auth-bearer-token-file', 'x'],
    ['--remote-forward-headers', 'X-Key=x'],
    ['--remote-forward-headers-secret', 'X-Key=x'],
  ]
  for (const flags of lent) {
    for (const host of [
      '0.0.0.0',
      '::',
      '192.168.1.1',
      'example.com',
      '127.example.com',
      'localhost.example',
    ]) {
      assert.deepEqual(refused(['--host', host, ...flags]), ['--host'], host)
    }
    for (const host of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) {
      assert.deepEqual(refused(['--host', host, ...flags]), [], host)
    }
    assert.deepEqual(refused(['--host', '0.0.0.0', '--allow-unauthenticated', ...flags]), [])
    assert.deepEqual(refused(['--host', '0.0.0.0', ...issuer, ...audience, ...flags]), [])
  }
  assert.deepEqual(refused(['--host', '0.0.0.0']), [])
})

test('a host has no port, scheme or brackets', () => {
  for (const host of ['[::1]', 'a:80', 'http://a', 'a b', '-a', 'a/']) {
    assert.deepEqual(refused([`--host=${host}`]), ['--host'], host)
  }
})

test('an origin is what a browser sends', () => {
  assert.deepEqual(
    refused(['--allowed-origins', 'https://a.example,http://[::1]:80,chrome-extension://abc']),
    [],
  )
  for (const origin of [
    '*',
    'https://a/',
    'a.example',
    'https://A.example',
    'https://*.a',
    'null',
    'https://u@a',
  ]) {
    assert.deepEqual(refused(['--allowed-origins', origin]), ['--allowed-origins'], origin)
  }
})

test('what is secret among the settings is marked', () => {
  const flags = [
    '--remote-auth-bearer-token=one',
    '--remote-forward-headers',
    'X-Key=two',
    '--oidc-client-secret=three',
  ]
  const outcome = read([...issuer, ...audience, '--oidc-client-id=me', ...flags])

  assert.ok('settings' in outcome)
  assert.deepEqual([...outcome.secrets].toSorted(), ['one', 'three', 'two'])
})

test('a setting is located at its flag or its variable', () => {
  const outcome = read(['--port', '1'], { SALLYPORT_HOST: 'localhost' })

  assert.ok('settings' in outcome)
  assert.equal(outcome.locate(['port']), '--port')
  assert.equal(outcome.locate(['host', 0]), 'SALLYPORT_HOST')
  assert.equal(outcome.locate(['oidc-jwks-url']), '--oidc-jwks-url')
})
