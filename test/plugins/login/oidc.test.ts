import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { List } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { PAGES, realIssuer } from '#kit/oidc-provider.js'
import { Person } from '#kit/person.js'
import { CLIENT, type Habits, loginOf, type Problem, REDIRECT_URI, refuses, Vendor } from './vendors.js'

const TENANT = '11111111-2222-3333-4444-555555555555'

/** As Entra ID behaves: `resource` beside scopes and a consent that only an administrator may give are errors. */
const entra: Habits = {
  issuer: `https://login.microsoftonline.com/${TENANT}/v2.0`,
  refuses: (query) => {
    if (query.has('resource'))
      return { error: 'invalid_target', error_description: 'AADSTS9010010: the resource does not match' }
    if (query.get('prompt') === 'consent')
      return { error: 'access_denied', error_description: 'AADSTS90094: an administrator has to consent' }
    return undefined
  },
  gives: (query) =>
    query.get('scope')?.includes('offline_access')
      ? { refresh_token: 'entra-refresh', expires_in: 3_600 }
      : {},
  claims: () => ({ sub: 'pairwise', oid: 'the-object', tid: TENANT, name: 'Alice' }),
}

/** As Google behaves: it knows no `offline_access`, and gives a refresh token for `access_type` with a consent. */
const google: Habits = {
  issuer: 'https://accounts.google.com',
  refuses: (query) =>
    query.get('scope')?.includes('offline_access') ? { error: 'invalid_scope' } : undefined,
  gives: (query) =>
    query.get('access_type') === 'offline' && query.get('prompt') === 'consent'
      ? { refresh_token: 'google-refresh', expires_in: 3_599 }
      : {},
  claims: () => ({ sub: '1234567890', hd: 'example.com', email: 'a@example.com', email_verified: true }),
}

const opened = (t: TestContext, habits: Habits): Promise<Vendor> => new Vendor(habits).open(t)

const listFor = (vendor: Vendor, issuerUrl: string | undefined, more: object = {}): List => [
  vendor.metadata,
  { use: 'login/oidc', with: { issuerUrl, ...CLIENT, allowPrivateIP: true, ...more } },
]

const OFFLINE = { scopes: ['openid', 'profile', 'offline_access'] }

for (const refreshes of [true, false]) {
  contractSuite(`login/oidc, where the issuer gives ${refreshes ? 'a' : 'no'} refresh token,`, async (t) => {
    const issuer = await realIssuer(t, { people: { redirectUri: REDIRECT_URI, name: 'Alice', refreshes } })
    const signIn = async (url: string): Promise<string> => {
      const end = await new Person().follow(url, (each) => each.startsWith(REDIRECT_URI))
      return new URL(end.url).search
    }
    const login = { issuerUrl: issuer.url, ...PAGES, scopes: ['openid'], allowPrivateIP: true }
    return {
      list: [{ use: 'discovery/issuer' }, { use: 'login/oidc', with: login }],
      fixtures: { person: { redirectUri: REDIRECT_URI, signIn } },
    }
  })
}

test('a person signs in at Entra ID, which gets no `resource` and no `prompt=consent`', async (t) => {
  const vendor = await opened(t, entra)
  const { provider, signIn } = await loginOf(t, listFor(vendor, entra.issuer, { ...OFFLINE, subject: 'oid' }))
  const login = await signIn(vendor)
  assert.deepEqual(
    [provider.idp, provider.name, provider.accountsOf, login.subject, login.tokens.refresh],
    [`${entra.issuer}#oid`, 'login.microsoftonline.com', 'organisation', 'the-object', 'entra-refresh'],
  )
  const later = await provider.refresh(login)
  assert.ok(later !== 'ended' && later.subject === 'the-object')
  for (const { path, form } of vendor.asked) {
    assert.equal(form.has('resource'), false, path)
    assert.equal(form.get('redirect_uri') ?? REDIRECT_URI, REDIRECT_URI)
  }
})

test('groups that Entra ID leaves out of the ID token are reported once, with the option that reads them', async (t) => {
  const left = { _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'x' } } }
  const vendor = await opened(t, { ...entra, claims: () => ({ ...entra.claims?.(), ...left }) })
  const { provider, signIn, lines } = await loginOf(t, listFor(vendor, entra.issuer, OFFLINE))
  await provider.refresh(await signIn(vendor))
  await signIn(vendor)
  const warnings = lines.filter(({ level }) => level === 'warn')
  assert.deepEqual(
    warnings.map(({ claim }) => claim),
    ['groups'],
  )
  assert.match(String(warnings[0]?.['msg']), /the claim groups .* name it in `ask`/)
})

test('`ask` reads the groups of Entra ID from a list inside the answer, and nothing is reported', async (t) => {
  const left = { _claim_names: { groups: 'src1' } }
  const vendor = await opened(t, {
    ...entra,
    claims: () => ({ ...entra.claims?.(), ...left }),
    described: { '/me/memberOf': () => ({ value: [{ id: 'group-1' }, { id: 'group-2' }, { name: 'x' }] }) },
  })
  const ask = [{ claim: 'groups', url: `${vendor.origin}/me/memberOf`, each: 'value.id' }]
  const { signIn, lines } = await loginOf(t, listFor(vendor, entra.issuer, { ask }))
  assert.deepEqual((await signIn(vendor)).claims['groups'], ['group-1', 'group-2'])
  assert.ok(!lines.some(({ level }) => level === 'warn'))
})

test('a person signs in at Google with a refresh token and the domain of the organisation', async (t) => {
  const vendor = await opened(t, google)
  const { provider, signIn } = await loginOf(t, listFor(vendor, google.issuer))
  const { subject, claims, tokens } = await signIn(vendor)
  assert.deepEqual(
    [provider.accountsOf, subject, claims['hd'], tokens.refresh],
    ['everybody', '1234567890', 'example.com', 'google-refresh'],
  )
})

test('`authorizeParams` replace the parameters for Google', async (t) => {
  const vendor = await opened(t, google)
  const authorizeParams = { prompt: 'select_account', hd: 'example.com' }
  const { provider } = await loginOf(t, listFor(vendor, google.issuer, { authorizeParams }))
  const query = new URL((await provider.begin(REDIRECT_URI)).url).searchParams
  assert.deepEqual(
    [query.get('access_type'), query.get('prompt'), query.get('hd')],
    ['offline', 'select_account', 'example.com'],
  )
})

const CORP = 'https://idp.corp.example'
const corp: Habits = { issuer: CORP, claims: () => ({ sub: 'alice' }) }

test('other issuers get `prompt=consent` with `offline_access`, as OpenID Connect wants it', async (t) => {
  const vendor = await opened(t, corp)
  const { provider } = await loginOf(t, listFor(vendor, CORP, OFFLINE))
  assert.equal(new URL((await provider.begin(REDIRECT_URI)).url).searchParams.get('prompt'), 'consent')
})

const forged: readonly (readonly [what: string, claims: object])[] = [
  ['of another issuer', { iss: 'https://other.example' }],
  ['for another client', { aud: 'another' }],
  ['of another sign-in', { nonce: 'another' }],
  ['without a nonce', { nonce: undefined }],
  ['that expired', { exp: 1 }],
  ['without a subject', { sub: undefined }],
]

for (const [what, changed] of forged) {
  test(`an ID token ${what} signs no person in`, async (t) => {
    const vendor = await opened(t, { ...corp, claims: () => ({ sub: 'alice', ...changed }) })
    const { signIn } = await loginOf(t, listFor(vendor, CORP))
    await assert.rejects(signIn(vendor))
  })
}

test('an ID token that is signed with no key of the issuer signs no person in', async (t) => {
  const [vendor, other] = [await opened(t, corp), await opened(t, corp)]
  const metadata = { token_endpoint: `${vendor.origin}/token`, jwks_uri: `${other.origin}/keys` }
  const mixed = await opened(t, { ...corp, metadata })
  const { provider } = await loginOf(t, listFor(mixed, CORP))
  const { url, checks } = await provider.begin(REDIRECT_URI)
  await assert.rejects(provider.finish(await vendor.signIn(url), checks, REDIRECT_URI))
})

test('without an ID token at a refresh the person is described by userinfo', async (t) => {
  let person: object = { sub: 'alice', email: 'new@corp.example' }
  const vendor = await opened(t, { ...corp, described: { '/userinfo': () => person } })
  const { provider, signIn } = await loginOf(t, listFor(vendor, CORP))
  const login = await signIn(vendor)
  const later = await provider.refresh(login)
  assert.ok(later !== 'ended')
  assert.deepEqual(later.claims, person)
  person = { sub: 'mallory' }
  assert.equal(await provider.refresh(login), 'ended')
  person = { sub: 'alice' }
  vendor.accessTokens.clear()
  assert.equal(await provider.refresh(login), 'ended')
})

test('a login ends at its first refresh where an issuer gives no refresh token and has no userinfo', async (t) => {
  const vendor = await opened(t, { ...corp, metadata: { userinfo_endpoint: undefined } })
  const { provider, signIn } = await loginOf(t, listFor(vendor, CORP))
  assert.equal(await provider.refresh(await signIn(vendor)), 'ended')
})

test('an issuer that responds with 403 or 500 is away: no login ends by it', async (t) => {
  const vendor = await opened(t, { ...corp, gives: () => ({ refresh_token: 'r' }), errorStatus: 500 })
  const { provider, signIn } = await loginOf(t, listFor(vendor, CORP))
  const login = await signIn(vendor)
  vendor.refreshTokens.clear()
  await assert.rejects(provider.refresh({ ...login, tokens: { access: login.tokens.access } }), {
    code: 'SIGN_IN_UNAVAILABLE',
  })
  const answer = await provider.refresh(login).catch(() => 'it threw')
  assert.equal(answer, 'it threw')
})

const GOOD = { issuerUrl: 'https://idp.example', clientId: 'gateway' }

// All of an entry are reported at once.
const mistakes: readonly (readonly [what: string, options: object, ...problems: Problem[]])[] = [
  ['http off loopback', { issuerUrl: 'http://idp.example' }, ['issuerUrl', /expected https/]],
  ['no client', { clientId: undefined }, ['clientId', /missing|required|expected/]],
  ['a loopback issuer', { issuerUrl: 'http://127.0.0.1:9' }, ['allowPrivateIP', /is needed/]],
  [
    'scopes without `openid`, two secrets and a parameter of the sign-in itself',
    { scopes: ['email'], clientSecret: 'a', clientSecretFile: 'b', authorizeParams: { nonce: 'x' } },
    ['clientSecretFile', /expected one of the two/],
    ['authorizeParams.nonce', /take it out/],
    ['scopes', /use login\/oauth2/],
  ],
  [
    '`offline_access` at Google',
    { issuerUrl: 'https://accounts.google.com', scopes: ['openid', 'offline_access'] },
    ['scopes[1]', /take it out/],
  ],
  ['an option that there is not', { userUrl: 'https://idp.example/user' }, ['userUrl', /unknown option/]],
  ['an empty question', { ask: [{ claim: '', url: 'x' }] }, ['ask[0].claim', /./], ['ask[0].url', /URL/]],
  [
    'files that are missing',
    { clientSecretFile: './none', caCertPath: './none' },
    ['clientSecretFile', /none/],
    ['caCertPath', /none/],
  ],
]

for (const [what, options, ...expected] of mistakes) {
  test(`login/oidc with ${what} stops the start, with the place and what to do`, async (t) => {
    const entry = { use: 'login/oidc', with: { ...GOOD, ...options } }
    await refuses(t, [entry, { use: 'discovery/issuer' }], expected)
  })
}
