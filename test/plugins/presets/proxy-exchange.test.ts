import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Entry, isScope } from 'sallyport'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'
import { folder } from '#kit/folder.js'
import { issuing } from '#kit/issuer.js'
import { program } from '#kit/program.js'
import { bearer, echo, granting, refusing, tokenEndpoint } from '../credential/exchanging.js'
import { send } from '../forward/proxied.js'
import { proxyProblems } from './complaints.js'

type Written = Partial<Record<keyof ProxySettings, unknown>>

const target = { targetUri: 'https://target.example/mcp' }
const incoming = { oidcIssuer: 'https://idp.example', oidcAudience: 'gateway' }
const url = { tokenExchangeUrl: 'https://idp.example/token' }

const complaints = async (written: Written): Promise<string[]> =>
  (await proxyProblems({ ...target, ...written })).map(({ place }) => place)

test('an exchange needs a token to exchange, and what belongs to it needs the exchange', async () => {
  assert.deepEqual(await complaints({ ...incoming, ...url }), [])
  assert.deepEqual(await complaints({ ...url }), ['tokenExchangeUrl'])
  assert.deepEqual(await complaints({ ...url, remoteAuthBearerTokenFile: 'file' }), [])
  for (const tokenExchangeSubjectTokenType of ['id_token', 'urn:ietf:params:oauth:token-type:id_token']) {
    assert.deepEqual(await complaints({ ...incoming, ...url, tokenExchangeSubjectTokenType }), [])
    assert.deepEqual(
      await complaints({ ...url, remoteAuthBearerToken: 'token', tokenExchangeSubjectTokenType }),
      ['tokenExchangeSubjectTokenType'],
    )
  }
  const secrets = { tokenExchangeClientSecret: 'a', tokenExchangeClientSecretFile: 'b' }
  for (const [name, value] of Object.entries(secrets))
    assert.deepEqual(await complaints({ ...incoming, ...url, [name]: value }), [name])
  const rest = {
    tokenExchangeAudience: 'a',
    tokenExchangeResource: 'https://a',
    tokenExchangeClientId: 'a',
    ...secrets,
    tokenExchangeScopes: ['a'],
    tokenExchangeHeaderName: 'x-a',
    tokenExchangeSubjectTokenType: 'id_token',
    tokenExchangeActorTokenFile: 'a',
    tokenExchangeCaCert: 'a',
    tokenExchangeAllowPrivateIp: true,
  }
  assert.deepEqual(await complaints({ ...incoming, ...rest }), Object.keys(rest))
})

test('the exchange stands behind the token that it takes, and every setting reaches it', () => {
  const settings = ProxySettings.parse({
    ...target,
    ...incoming,
    ...url,
    remoteAuthBearerToken: 'token',
    remoteForwardHeaders: [['X-A', 'a']],
    tokenExchangeAudience: 'audience',
    tokenExchangeResource: 'https://target.example',
    tokenExchangeClientId: 'id',
    tokenExchangeClientSecret: 'secret',
    tokenExchangeClientSecretFile: 'file',
    tokenExchangeScopes: ['a', 'b'],
    tokenExchangeHeaderName: 'X-Token',
    tokenExchangeActorTokenFile: 'actor',
    tokenExchangeCaCert: 'ca',
    tokenExchangeAllowPrivateIp: true,
  })
  const entries = proxy(settings).filter((item): item is Entry => !isScope(item))
  const names = entries.map(({ use }) => use)

  assert.deepEqual(names.slice(names.indexOf('credential/static-bearer')), [
    'credential/static-bearer',
    'credential/token-exchange',
    'headers/static',
    'forward/http',
  ])
  const entry = entries.find(({ use }) => use === 'credential/token-exchange')
  assert.deepEqual(entry?.with, {
    url: 'https://idp.example/token',
    audience: 'audience',
    resource: 'https://target.example',
    clientId: 'id',
    clientSecret: 'secret',
    scopes: ['a', 'b'],
    headerName: 'X-Token',
    actorTokenFile: 'actor',
    caCertPath: 'ca',
    allowPrivateIP: true,
  })
})

test('a login is enough of a subject, and stands before the exchange', async () => {
  const login = { remoteAuth: true, remoteAuthIssuer: 'https://login.example' }
  assert.deepEqual(await complaints({ ...login, ...url }), [])
  const settings = ProxySettings.parse({
    ...target,
    ...login,
    ...url,
    tokenExchangeSubjectTokenType: 'id_token',
  })
  const names = proxy(settings).flatMap((item) => (isScope(item) ? [] : [item.use]))

  const place = names.indexOf('credential/oauth')
  assert.ok(place >= 0 && place < names.indexOf('credential/token-exchange'))
})

/** The program with an issuer of callers, a token endpoint and a target. */
async function started(
  t: TestContext,
  answering: Parameters<typeof tokenEndpoint>[1],
  flags: readonly string[],
) {
  const issuer = await issuing(t)
  const endpoint = await tokenEndpoint(t, answering)
  const behind = await echo(t)
  const gateway = program(
    t,
    [
      ...['proxy', 'example', '--target-uri', `${behind.origin}/mcp`, '--debug'],
      ...['--oidc-issuer', issuer.url, '--oidc-audience', issuer.audience, '--oidc-allow-private-ip'],
      ...['--token-exchange-url', endpoint.url, '--token-exchange-allow-private-ip', ...flags],
    ],
    { environment: { SALLYPORT_TOKEN_EXCHANGE_CLIENT_SECRET: 'canary-of-the-client' } },
  )
  return { issuer, endpoint, behind, gateway, main: await gateway.ready() }
}

test('the proxy exchanges its callers’ tokens, and shows them in no log or response (T8, T10)', async (t) => {
  const { issuer, endpoint, behind, gateway, main } = await started(
    t,
    granting({ access_token: 'canary-of-the-target' }),
    [
      ...['--token-exchange-client-id', 'gateway', '--token-exchange-audience', 'target'],
      ...['--token-exchange-scopes', 'read,write', '--token-exchange-header-name', 'X-Target-Token'],
    ],
  )
  const mine = await issuer.jwt()

  for (const _ of [1, 2, 3])
    assert.equal((await send(new URL(main).origin, { path: '/mcp', ...bearer(mine) })).status, 200)
  assert.equal((await send(new URL(main).origin, { path: '/mcp' })).status, 401)
  const [asked] = endpoint.asked
  assert.equal(endpoint.asked.length, 1)
  assert.deepEqual(
    [asked?.form.get('subject_token'), asked?.form.get('audience'), asked?.form.get('scope')],
    [mine, 'target', 'read write'],
  )
  assert.equal(
    asked?.headers.authorization,
    `Basic ${Buffer.from('gateway:canary-of-the-client').toString('base64')}`,
  )
  assert.equal(behind.seen.length, 3)
  for (const { authorization, 'x-target-token': token } of behind.seen)
    assert.deepEqual([authorization, token], [undefined, 'Bearer canary-of-the-target'])

  gateway.stop()
  assert.equal(await gateway.ended(), 0)
  const told = gateway.output.stdout + gateway.output.stderr
  for (const secret of ['canary-of-the-client', 'canary-of-the-target', mine, mine.split('.')[2] ?? ''])
    assert.ok(!told.includes(secret))
})

test('a refused subject token is a 401 with a challenge for a better one', async (t) => {
  const { issuer, behind, main } = await started(
    t,
    refusing(400, { error: 'invalid_grant', error_description: 'canary' }),
    ['--token-exchange-client-id', 'gateway'],
  )
  const { status, headers, body } = await send(new URL(main).origin, {
    path: '/mcp',
    ...bearer(await issuer.jwt()),
  })

  assert.equal(status, 401)
  assert.match(headers['www-authenticate'] ?? '', /^Bearer .*error="invalid_token".*resource_metadata="http/)
  assert.ok(!body.includes('canary'))
  assert.equal(behind.seen.length, 0)
})

test('mistakes are reported by their flags, and end the start with 2', async (t) => {
  const home = folder(t, {})
  const flags = ['proxy', 'example', '--target-uri', 'https://target.example', '--token-exchange-url']
  const alone = program(t, [
    ...flags,
    'https://idp.example/token',
    '--token-exchange-client-secret-file',
    'x',
  ])
  assert.equal(await alone.ended(), 2)
  assert.match(alone.output.stderr, /^--token-exchange-url: /m)

  const nameless = program(t, [
    ...[
      ...flags,
      'https://idp.example/token',
      '--oidc-issuer',
      'https://idp.example',
      '--oidc-audience',
      'a',
    ],
    ...['--token-exchange-client-secret-file', 'x'],
  ])
  assert.equal(await nameless.ended(), 2)
  assert.match(nameless.output.stderr, /^--token-exchange-client-secret-file/m)

  const missing = program(t, [
    ...[...flags, 'http://idp.example/token', '--oidc-issuer', 'https://idp.example', '--oidc-audience', 'a'],
    ...['--token-exchange-client-id', 'a', '--token-exchange-client-secret-file', join(home, 'missing')],
  ])
  assert.equal(await missing.ended(), 2)
  assert.match(missing.output.stderr, /^--token-exchange-client-secret-file /m)
  assert.match(missing.output.stderr, /^--token-exchange-url /m)
})
