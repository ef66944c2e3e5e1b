import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'
import { RegistrySettings, registry } from 'sallyport/presets/registry'
import { mcpTarget } from 'sallyport/testing'
import { serving } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { closedPort } from '#kit/listening.js'
import { PAGES, realIssuer } from '#kit/oidc-provider.js'
import { granting, tokenEndpoint } from '../credential/exchanging.js'
import { calledWith, HandClient } from '../issuer/brokered.js'

test('callers of a proxy sign in at its broker by a few settings', async (t) => {
  const { origin, hostname, port } = new URL(await closedPort())
  const issuer = await realIssuer(t, { people: { redirectUri: `${origin}/oauth/callback`, name: 'Alice' } })
  const target = await mcpTarget(t)
  const home = folder(t, { secret: PAGES.clientSecret })
  const settings = ProxySettings.parse({
    targetUri: target.url,
    host: hostname,
    port: Number(port),
    resourceUrl: `${origin}/mcp`,
    oidcIssuer: issuer.url,
    oidcAllowPrivateIp: true,
    brokerClientId: PAGES.clientId,
    brokerClientSecretFile: './secret',
    brokerKeyFile: './broker.key',
    brokerRequire: ['name=Bob,Alice'],
    remoteAuthNoStore: false,
  })
  const list = proxy(settings).map((entry) =>
    'use' in entry && entry.use === 'state/sqlite'
      ? { ...entry, with: { ...Object(entry.with), directory: './state' } }
      : entry,
  )
  await serving(t, list, { folder: home })
  const { access_token: token } = await new HandClient(origin).tokens()
  assert.equal(await calledWith(`${origin}/mcp`, token), 200)
  assert.equal(await calledWith(`${origin}/mcp`, 'made-up'), 401)
})

test('a proxy with a broker exchanges what the provider gave, without a further setting', async (t) => {
  const { origin, hostname, port } = new URL(await closedPort())
  const issuer = await realIssuer(t, { people: { redirectUri: `${origin}/oauth/callback` } })
  const target = await mcpTarget(t)
  const endpoint = await tokenEndpoint(t, async (asked, response) => {
    const authorization = `Bearer ${asked.form.get('subject_token')}`
    const described = await fetch(`${issuer.url}/me`, { headers: { authorization } })
    granting({ access_token: `for-${Object(await described.json()).sub}` })(asked, response)
  })
  const settings = ProxySettings.parse({
    targetUri: target.url,
    host: hostname,
    port: Number(port),
    resourceUrl: `${origin}/mcp`,
    oidcIssuer: issuer.url,
    oidcAllowPrivateIp: true,
    brokerClientId: PAGES.clientId,
    brokerClientSecretFile: './secret',
    brokerKeyFile: './broker.key',
    tokenExchangeUrl: endpoint.url,
    tokenExchangeAllowPrivateIp: true,
  })
  const list = proxy(settings).map((entry) =>
    'use' in entry && entry.use === 'state/sqlite'
      ? { ...entry, with: { ...Object(entry.with), directory: './state' } }
      : entry,
  )
  await serving(t, list, { folder: folder(t, { secret: PAGES.clientSecret }) })
  const { access_token: token } = await new HandClient(origin).tokens()
  assert.equal(await calledWith(`${origin}/mcp`, token), 200)
  assert.equal(target.asked[0]?.headers['authorization'], 'Bearer for-alice')
})

test('readers of a registry sign in at its broker', async (t) => {
  const { origin, host } = new URL(await closedPort())
  const issuer = await realIssuer(t, { people: { redirectUri: `${origin}/oauth/callback`, name: 'Alice' } })
  const home = folder(t, { 'servers.json': '[]', secret: PAGES.clientSecret })
  const settings = RegistrySettings.parse({
    address: host,
    internalAddress: '127.0.0.1:0',
    stateDirectory: './state',
    auth: {
      oauth: {
        resourceUrl: `${origin}/mcp`,
        broker: {
          login: {
            issuerUrl: issuer.url,
            clientId: PAGES.clientId,
            clientSecretFile: './secret',
            allowPrivateIP: true,
          },
          keyFile: './broker.key',
        },
      },
    },
    sources: [{ name: 'own', file: { path: './servers.json' } }],
  })
  await serving(t, registry(settings), { folder: home })
  const { access_token: token } = await new HandClient(origin).tokens()
  const response = await fetch(`${origin}/registry/default/v0.1/servers`, {
    headers: { authorization: `Bearer ${token}` },
  })
  assert.equal(response.status, 200)
})

const mistakes: readonly (readonly [what: string, settings: object, place: string, message: RegExp])[] = [
  ['no provider', { brokerClientId: 'x' }, 'brokerClientId', /needs --oidc-issuer or --broker-authorize-url/],
  [
    'a free port',
    { brokerClientId: 'x', oidcIssuer: 'https://idp.example.com' },
    'resourceUrl',
    /on a free port its address would change/,
  ],
  [
    'half of a plain provider',
    { brokerClientId: 'x', brokerAuthorizeUrl: 'https://a.example/', brokerUserUrl: 'https://a.example/u' },
    'brokerTokenUrl',
    /is required/,
  ],
  ['a flag of the broker without it', { brokerKeyFile: './k' }, 'brokerKeyFile', /needs --broker-client-id/],
  [
    'a section with two providers',
    { broker: { login: { issuerUrl: 'https://a.example', authorizeUrl: 'https://b.example' } } },
    'broker.login',
    /expected one of issuerUrl, authorizeUrl and use/,
  ],
]

for (const [what, settings, place, message] of mistakes) {
  test(`the settings of a proxy refuse a broker with ${what}`, () => {
    const { error } = ProxySettings.safeParse({ targetUri: 'https://mcp.example.com/mcp', ...settings })
    const found = error?.issues.find(({ path }) => path.join('.') === place)
    assert.match(found?.message ?? '', message)
  })
}
