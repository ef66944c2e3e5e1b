import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ProxySettings, proxy } from 'sallyport/presets/proxy'
import { readProxySettings } from '#cli/commands/proxy/run.js'
import { planOf } from '#cli/config/all-problems.js'
import { mapped, type Result } from '#cli/config/result.js'
import { program } from '#kit/program.js'
import { placesOf, proxied } from '../../parsed.js'

async function read(flags: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const { invocation, problems } = proxied(flags, environment)
  assert.ok(invocation !== undefined, placesOf({ problems }).join())
  return readProxySettings(invocation)
}

/** What is refused, by the proxy itself or by the plugins that get its settings as options. */
async function refused(flags: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  return refusedIn(await read(flags, environment))
}

async function refusedIn(outcome: Result<ProxySettings>) {
  const planned = await planOf(mapped(outcome, proxy))
  return 'problems' in planned ? placesOf(planned).map((place) => place.replace(/ \(.*\)$/, '')) : []
}

const issuer = ['--oidc-issuer', 'https://idp.example/']
const audience = ['--oidc-audience', 'mcp']

test('a target alone is enough for a proxy', async () => {
  const outcome = await read([])

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

test('the ready line shows the address of health and metrics, when they have a port', async (t) => {
  const target = 'https://target.example/mcp'
  const argv = ['proxy', 'mine', '--target-uri', target]
  const [plain, watched] = [program(t, argv), program(t, [...argv, '--internal-address', '127.0.0.1:0'])]
  const main = await plain.ready()
  assert.equal(plain.output.stdout, `sallyport proxy "mine" listening on ${main} -> ${target}\n`)
  await watched.ready()
  const [, internal = ''] = /-> \S+ \(health and metrics on (http:\S+)\)\n$/.exec(watched.output.stdout) ?? []
  assert.equal((await fetch(new URL('/health', internal))).status, 200)
})

test('the ready line has the URL for clients that sign in, which compare it with the resource', async (t) => {
  const target = ['--target-uri', 'https://target.example/mcp']
  for (const own of [[], ['--resource-url', 'https://proxy.example/mcp']]) {
    const started = program(t, ['proxy', 'mine', ...target, ...issuer, ...audience, ...own])
    const main = await started.ready()
    const [, url] = /\(clients that sign in use (https?:\S+)\)\n$/.exec(started.output.stdout) ?? []
    const document = await fetch(new URL('/.well-known/oauth-protected-resource', main))
    const { resource }: { resource: string } = JSON.parse(await document.text())
    assert.equal(url, resource)
  }
})

test('the ready line of a tunnel has the URL for clients too', async (t) => {
  const command = [
    '--tunnel-provider',
    'command',
    '--tunnel-command',
    "sh -c 'echo {url} https://a.example; exec sleep 60'",
  ]
  const target = ['--target-uri', 'https://target.example/mcp']
  const started = program(t, ['proxy', 'tunnel', 'mine', ...command, ...target, ...issuer, ...audience])
  await started.ready()
  assert.match(
    started.output.stdout,
    /-> https:\/\/target\.example\/mcp \(clients that sign in use https:\/\/a\.example\/mcp\)\n$/,
  )
})

test('an empty list of origins differs from an unset list', async () => {
  const outcome = await read(['--allowed-origins', ''])

  assert.deepEqual('settings' in outcome && outcome.settings.allowedOrigins, [])
})

test('a header without a value is refused in one line that names it', async () => {
  const flags = ['--remote-forward-headers', 'X-A=a', '--remote-forward-headers', 'X-B=']
  const outcome = await read(flags)

  assert.ok('problems' in outcome)
  const [problem, ...more] = outcome.problems
  assert.deepEqual([problem?.place, more], ['--remote-forward-headers', []])
  assert.match(problem?.message ?? '', /pair 2 is empty/)
})

test('the issuer reaches the settings byte for byte', async () => {
  const outcome = await read([...issuer, ...audience])

  assert.equal('settings' in outcome && outcome.settings.oidcIssuer, 'https://idp.example/')
})

test('claims become headers only for a caller that was checked', async () => {
  const flags = ['--remote-forward-claims', 'X-User=sub', '--remote-forward-claims=X-Mail=email']
  const outcome = await read([...issuer, ...audience, ...flags])

  assert.deepEqual('settings' in outcome && outcome.settings.remoteForwardClaims, [
    ['X-User', 'sub'],
    ['X-Mail', 'email'],
  ])
  assert.deepEqual(await refused(flags), ['--remote-forward-claims'])
})

test('an issuer needs an audience, or the flag that accepts any audience', async () => {
  assert.deepEqual(await refused(issuer), ['--oidc-audience'])
  assert.deepEqual(await refused([...issuer, '--oidc-any-audience']), [])
  assert.deepEqual(await refused([...issuer, ...audience, '--oidc-any-audience']), ['--oidc-any-audience'])
})

test('flags for checking tokens without an issuer are refused', async () => {
  const flags = [
    ...audience,
    '--oidc-jwks-url',
    'https://idp.example/jwks',
    '--oidc-introspection-url=https://a',
    '--oidc-allow-private-ip',
  ]

  assert.deepEqual((await refused(flags)).toSorted(), [
    '--oidc-allow-private-ip',
    '--oidc-audience',
    '--oidc-introspection-url',
    '--oidc-jwks-url',
  ])
  assert.deepEqual(await refused([], { SALLYPORT_OIDC_AUDIENCE: 'mcp' }), ['SALLYPORT_OIDC_AUDIENCE'])
  assert.deepEqual(await refused(['--oidc-scopes', 'a']), [])
})

test('a client secret needs its client', async () => {
  assert.deepEqual(await refused([...issuer, ...audience, '--oidc-client-secret-file', 'x']), [
    '--oidc-client-secret-file',
  ])
})

test('without discovery only the endpoints that are not set are reported as missing', async () => {
  const page = ['--remote-auth-authorize-url', 'https://idp.example/authorize']
  const token = ['--remote-auth-token-url', 'https://idp.example/token']

  assert.deepEqual(await refused([...page, ...token]), ['--remote-auth-client-id'])
  assert.deepEqual(await refused(page), ['--remote-auth-token-url'])
  assert.deepEqual(await refused([...token, '--remote-auth-client-id', 'c']), ['--remote-auth-authorize-url'])
})

test('a proxy on a network address does not add credentials without checking callers', async () => {
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
      assert.deepEqual(await refused(['--host', host, ...flags]), ['--host'], host)
    }
    for (const host of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) {
      assert.deepEqual(await refused(['--host', host, ...flags]), [], host)
    }
    assert.deepEqual(await refused(['--host', '0.0.0.0', '--allow-unauthenticated', ...flags]), [])
    const checked = [
      '--host',
      '0.0.0.0',
      ...issuer,
      ...audience,
      '--resource-url',
      'https://mcp.example.com/',
    ]
    assert.deepEqual(await refused([...checked, ...flags]), [])
  }
  assert.deepEqual(await refused(['--host', '0.0.0.0']), [])
})

test('incoming OAuth on all addresses needs the public URL', async () => {
  const known = ['--resource-url', 'https://mcp.example.com/mcp']
  for (const host of ['0.0.0.0', '::', '0:0:0:0:0:0:0:0', '0']) {
    const checked = ['--host', host, ...issuer, ...audience]
    assert.deepEqual(await refused(checked), ['--resource-url'], host)
    assert.deepEqual(await refused([...checked, ...known]), [], host)
    assert.deepEqual(await refused(['--host', host]), [], host)
  }
  assert.deepEqual(await refused(['--host', '192.168.1.1', ...issuer, ...audience]), [])
})

test('a host has no port, scheme or brackets', async () => {
  for (const host of ['[::1]', 'a:80', 'http://a', 'a b', '-a', 'a/']) {
    assert.deepEqual(await refused([`--host=${host}`]), ['--host'], host)
  }
})

test('an origin has the form that a browser sends', async () => {
  assert.deepEqual(
    await refused(['--allowed-origins', 'https://a.example,http://[::1]:8080,chrome-extension://abc']),
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
    assert.deepEqual(await refused(['--allowed-origins', origin]), ['--allowed-origins'], origin)
  }
})

test('secret settings are marked', async () => {
  const flags = [
    '--remote-auth-bearer-token=one',
    '--remote-forward-headers',
    'X-Key=two',
    '--oidc-client-secret=three',
  ]
  const outcome = await read([...issuer, ...audience, '--oidc-client-id=me', ...flags])

  assert.ok('settings' in outcome)
  assert.deepEqual([...outcome.secrets].toSorted(), ['one', 'three', 'two'])
})

test('a setting is located at its flag or its variable', async () => {
  const outcome = await read(['--port', '1'], { SALLYPORT_HOST: 'localhost' })

  assert.ok('settings' in outcome)
  assert.equal(outcome.locate(['port']), '--port')
  assert.equal(outcome.locate(['host', 0]), 'SALLYPORT_HOST')
  assert.equal(outcome.locate(['oidc-jwks-url']), '--oidc-jwks-url')
})
