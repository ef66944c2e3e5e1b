import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entry } from 'sallyport'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'
import { proxyProblems } from './complaints.js'

type Written = Partial<Record<keyof ProxySettings, unknown>>

const TARGET = 'https://mcp.example.com/mcp'
const parsed = (written: Written) => ProxySettings.safeParse({ targetUri: TARGET, ...written })
/** The entries that have to do with signing in. */
const entries = (written: Written): Entry[] =>
  proxy(parsed(written).data ?? assert.fail('the settings are wrong')).filter(
    (entry): entry is Entry =>
      'use' in entry &&
      typeof entry.use === 'string' &&
      /^(?:secrets|state|registrar|credential)\//.test(entry.use),
  )
const uses = (written: Written) => entries(written).map(({ use }) => use)

const byItself = [
  'secrets/keyring',
  'state/sqlite',
  'registrar/remembered',
  'registrar/dynamic',
  'credential/oauth',
]
const given = ['secrets/keyring', 'state/sqlite', 'registrar/given', 'credential/oauth']
const URLS = {
  remoteAuthAuthorizeUrl: 'https://idp.example/authorize',
  remoteAuthTokenUrl: 'https://idp.example/token',
}

test('the list has a login only when a flag requires one', () => {
  assert.deepEqual(uses({}), [])
  assert.deepEqual(uses({ remoteAuth: true }), byItself)
  assert.deepEqual(uses({ remoteAuthIssuer: 'https://idp.example' }), byItself)
  assert.deepEqual(uses({ remoteAuthClientId: 'mine' }), given)
  assert.deepEqual(uses({ remoteAuthClientId: 'mine', ...URLS }), given)
  assert.deepEqual(uses({ remoteAuth: true, remoteAuthNoStore: true }), [
    'state/memory',
    ...byItself.slice(2),
  ])
  assert.deepEqual(uses({ remoteAuth: true, remoteAuthClientId: 'https://app.example/client.json' }), [
    'secrets/keyring',
    'state/sqlite',
    'registrar/metadata-document',
    ...byItself.slice(2),
  ])
})

test('the login gets the values of its flags', () => {
  const told = (written: Written) => entries(written).at(-1)?.with
  assert.deepEqual(told({ remoteAuth: true }), {
    target: TARGET,
    login: 'start',
    grant: 'authorization_code',
    callbackPortFixed: false,
    openBrowser: true,
    allowPrivateIP: false,
  })
  const all = {
    remoteAuthClientId: 'mine',
    ...URLS,
    remoteAuthScopes: ['a', 'b'],
    remoteAuthScopeParamName: 'user_scope',
    remoteAuthResource: '',
    remoteAuthCallbackPort: 9999,
    remoteAuthSkipBrowser: true,
    remoteAuthTimeout: 150_000,
  }
  assert.deepEqual(told(all), {
    target: TARGET,
    login: 'demand',
    authorizationUrl: URLS.remoteAuthAuthorizeUrl,
    tokenUrl: URLS.remoteAuthTokenUrl,
    scopes: ['a', 'b'],
    scopeParameter: 'user_scope',
    resource: '',
    grant: 'authorization_code',
    callbackPort: 9999,
    callbackPortFixed: true,
    openBrowser: false,
    timeout: '150000ms',
    allowPrivateIP: false,
    keptAs: 'mine',
  })
})

test('the value of a secret wins over its file, and both belong to the named issuer', () => {
  const registrar = entries({
    remoteAuthClientId: 'mine',
    remoteAuthClientSecret: 'secret',
    remoteAuthClientSecretFile: '/file',
    remoteAuthIssuer: 'https://idp.example/',
  }).find(({ use }) => use === 'registrar/given')
  assert.deepEqual(registrar?.with, {
    clientId: 'mine',
    clientSecret: 'secret',
    issuer: 'https://idp.example/',
    place: TARGET,
  })
})

const client = { remoteAuthClientId: 'mine' }
const MACHINE = { remoteAuthGrant: 'client_credentials' } as const
const wrong: readonly (readonly [written: Written, setting: string, flag: RegExp])[] = [
  [{ remoteAuthScopes: ['a'] }, 'remoteAuthScopes', /--remote-auth/],
  [{ remoteAuthClientSecret: 's' }, 'remoteAuthClientSecret', /--remote-auth/],
  [{ remoteAuth: true, remoteAuthClientSecret: 's' }, 'remoteAuthClientSecret', /--remote-auth-client-id/],
  [{ remoteAuth: true, remoteAuthBearerToken: 't' }, 'remoteAuth', /--remote-auth-bearer-token/],
  [{ ...client, remoteAuthBearerTokenFile: 't' }, 'remoteAuthClientId', /--remote-auth-bearer-token/],
  [
    { ...client, ...URLS, remoteAuthIssuer: 'https://i.example' },
    'remoteAuthIssuer',
    /--remote-auth-token-url/,
  ],
  [
    { ...client, remoteAuthAuthorizeUrl: URLS.remoteAuthAuthorizeUrl },
    'remoteAuthTokenUrl',
    /--remote-auth-authorize-url/,
  ],
  [
    { ...client, remoteAuthTokenUrl: URLS.remoteAuthTokenUrl },
    'remoteAuthAuthorizeUrl',
    /--remote-auth-token-url/,
  ],
  [{ ...URLS }, 'remoteAuthClientId', /--remote-auth-token-url/],
  [{ ...client, ...URLS, remoteAuthDevice: true }, 'remoteAuthDevice', /--remote-auth-token-url/],
  [
    { remoteAuthClientId: 'https://app.example/c', remoteAuthClientSecret: 's' },
    'remoteAuthClientSecret',
    /URL/,
  ],
  [
    { remoteAuth: true, remoteAuthGrant: 'client_credentials', remoteAuthClientSecret: 's' },
    'remoteAuthGrant',
    /-client-id/,
  ],
  [{ ...client, remoteAuthGrant: 'client_credentials' }, 'remoteAuthGrant', /-client-secret-file/],
  [{ ...client, remoteAuthClientKeyFile: 'k' }, 'remoteAuthClientKeyFile', /client_credentials/],
  [
    { ...client, ...MACHINE, remoteAuthClientKeyFile: 'k', remoteAuthClientSecret: 's' },
    'remoteAuthClientKeyFile',
    /one of them/,
  ],
  [
    { remoteAuth: true, ...MACHINE, remoteAuthClientKeyFile: 'k' },
    'remoteAuthClientKeyFile',
    /--remote-auth-client-id/,
  ],
  [{ remoteAuthClientKeyFile: 'k' }, 'remoteAuthClientKeyFile', /needs --remote-auth/],
  [{ remoteAuth: true, remoteAuthResource: '/mcp' }, 'remoteAuthResource', /absolute/],
  [{ remoteAuth: true, remoteAuthResource: 'https://a.example/#x' }, 'remoteAuthResource', /fragment/],
  [{ remoteAuth: true, remoteAuthIssuer: 'idp.example' }, 'remoteAuthIssuer', /URL/],
  [{ remoteAuth: true, remoteAuthTimeout: 0 }, 'remoteAuthTimeout', /./],
  // A login would be lent to anybody on the network (T9).
  [{ remoteAuth: true, host: '0.0.0.0' }, 'host', /--allow-unauthenticated/],
  [{ ...client, host: '0.0.0.0' }, 'host', /--oidc-issuer/],
]
for (const [written, setting, flag] of wrong) {
  test(`${JSON.stringify(written)} is refused at ${setting}`, async () => {
    const problems = await proxyProblems({ targetUri: TARGET, ...written })
    const problem = problems.find(({ place }) => place === setting)
    assert.match(problem?.message ?? 'no complaint', flag)
  })
}

test('settings that belong together are accepted', async () => {
  const right: readonly Written[] = [
    {
      ...client,
      remoteAuthClientSecretFile: 'f',
      remoteAuthGrant: 'client_credentials',
      remoteAuthTokenUrl: 'https://i.example/t',
    },
    { ...client, ...MACHINE, remoteAuthClientKeyFile: 'k' },
    { remoteAuth: true, remoteAuthDevice: true },
    { remoteAuth: true, remoteAuthResource: 'urn:example:mcp' },
    { remoteAuth: true, host: '0.0.0.0', allowUnauthenticated: true },
  ]
  for (const written of right) assert.deepEqual(await proxyProblems({ targetUri: TARGET, ...written }), [])
})
