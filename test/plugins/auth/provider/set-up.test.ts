import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ConfigError } from 'sallyport'
import { booted, issuing } from 'sallyport/testing'
import { folder } from '#kit/folder.js'
import { variables } from '#kit/variables.js'

async function problemsOf(t: TestContext, use: string, options: Readonly<Record<string, unknown>>) {
  const error = await booted(t, [{ use, with: options }]).then(
    () => assert.fail('it should not have started'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof ConfigError, String(error))
  return error.problems.map(({ place }) => /(\w+)(?: \([^)]*\))?$/.exec(place)?.[1])
}

test('files that cannot be read stop the start, and the error names all of them', async (t) => {
  const issuer = await issuing(t)
  const missing = {
    caCertPath: '/nowhere/ca',
    authTokenFile: '/nowhere/token',
    clientSecretFile: '/nowhere/secret',
  }
  const options = {
    ...issuer.provider,
    introspectionUrl: issuer.introspectionUrl,
    clientId: 'me',
    ...missing,
  }
  assert.deepEqual(await problemsOf(t, 'auth/oidc', options), [
    'caCertPath',
    'authTokenFile',
    'clientSecretFile',
  ])
})

test('files without a usable content stop the start, and the message names the option', async (t) => {
  const issuer = await issuing(t)
  const files = folder(t, {
    empty: '',
    lines: 'one\ntwo\n',
    nonsense: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
  })
  const options = { ...issuer.provider, introspectionUrl: issuer.introspectionUrl, clientId: 'me' }
  for (const [option, file] of [
    ['caCertPath', 'empty'],
    ['caCertPath', 'nonsense'],
    ['authTokenFile', 'empty'],
    ['authTokenFile', 'lines'],
    ['clientSecretFile', 'empty'],
  ] as const) {
    const written = { ...options, [option]: join(files, file) }
    assert.deepEqual(await problemsOf(t, 'auth/oidc', written), [option])
  }
})

test('relative paths are resolved from the configuration file', async (t) => {
  const issuer = await issuing(t)
  const root = folder(t, { token: 'from-file' })
  await booted(
    t,
    [{ use: 'discovery/issuer' }, { use: 'auth/jwt', with: { ...issuer.provider, authTokenFile: 'token' } }],
    {
      folder: root,
    },
  )
})

test('options that exclude each other stop the start', async (t) => {
  const provider = { name: 'corp', issuerUrl: 'https://idp.example', audience: 'registry' }
  const introspectionUrl = 'https://idp.example/introspect'
  for (const [options, place] of [
    [{ ...provider, audience: undefined }, 'audience'],
    [{ ...provider, anyAudience: true }, 'anyAudience'],
    [{ ...provider, requireAccessTokenType: true, acceptIdTokens: true }, 'acceptIdTokens'],
    [{ ...provider, introspectionUrl, clientSecret: 'x' }, 'clientSecret'],
    [
      { ...provider, introspectionUrl, clientId: 'x', clientSecret: 'x', clientSecretFile: 'y' },
      'clientSecretFile',
    ],
    [{ ...provider, issuerUrl: 'idp.example' }, 'issuerUrl'],
    [{ ...provider, isuerUrl: 'x' }, 'isuerUrl'],
  ] as const) {
    assert.deepEqual(await problemsOf(t, 'auth/oidc', options), [place])
  }
})

test('RS-23: an http URL that is not on this machine stops the start, unless the environment allows it', async (t) => {
  const provider = { name: 'corp', issuerUrl: 'http://idp.example', audience: 'registry' }
  const introspectionUrl = 'http://idp.example/introspect'
  assert.deepEqual(await problemsOf(t, 'auth/oidc', { ...provider, introspectionUrl }), [
    'issuerUrl',
    'introspectionUrl',
  ])
  assert.deepEqual(await problemsOf(t, 'auth/jwt', { ...provider, jwksUrl: 'http://idp.example/keys' }), [
    'jwksUrl',
  ])
  await booted(t, [{ use: 'auth/jwt', with: { ...provider, jwksUrl: 'https://idp.example/keys' } }])

  variables(t, { SALLYPORT_INSECURE_HTTP: '1' })
  await booted(t, [
    { use: 'discovery/issuer' },
    { use: 'auth/oidc', with: { ...provider, introspectionUrl } },
  ])
})

test('two issuers with one name stop the start: their callers would be confused', async (t) => {
  const discovery = { use: 'discovery/issuer' }
  const [one, other] = [await issuing(t), await issuing(t)]
  const first = { use: 'auth/jwt', with: one.provider }
  const second = { id: 'second', use: 'auth/oidc', with: other.provider }
  for (const list of [
    [discovery, first, second],
    [discovery, first, { scope: '/inner', plugins: [second] }],
    [discovery, { use: 'auth/anonymous' }, { ...second, with: { ...other.provider, name: 'anonymous' } }],
  ]) {
    await assert.rejects(booted(t, list), (error: ConfigError) => {
      assert.match(error.problems[0]?.place ?? '', /name$/)
      assert.match(error.problems[0]?.message ?? '', /^is also the name of a provider with another issuer/)
      return true
    })
  }

  await booted(t, [discovery, first, { ...second, with: { ...one.provider, audience: 'another' } }])
  await booted(t, [
    discovery,
    ...[first, second].map((each, index) => ({ scope: `/${index}`, plugins: [each] })),
  ])
})

test('a provider without `jwksUrl` needs a plugin for discovery in the list', async (t) => {
  const issuer = await issuing(t)
  await assert.rejects(
    booted(t, [{ use: 'auth/jwt', with: issuer.provider }]),
    /jwksUrl: is needed to find the keys; or add `use: discovery\/issuer`/,
  )
})
