import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { List } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { CLIENT, type Habits, loginOf, type Problem, REDIRECT_URI, refuses, Vendor } from './vendors.js'

const octocat = { id: 583_231, login: 'octocat', name: 'The Octocat' }
const teams = [
  { id: 1, slug: 'platform', html_url: 'https://github.com/orgs/acme/teams/platform' },
  { id: 2, slug: 'platform', html_url: 'https://github.com/orgs/mallory/teams/platform' },
]

/** As GitHub behaves: errors with status 200, a form for a client that does not accept JSON, no `iss`, numbers for people. */
const github: Habits = {
  errorStatus: 200,
  errors: ['bad_verification_code', 'bad_refresh_token'],
  gives: () => ({ scope: 'read:user,read:org' }),
  described: { '/user': () => octocat, '/user/teams': () => teams },
}

const listFor = (vendor: Vendor, more: object = {}): List => [
  {
    use: 'login/oauth2',
    with: {
      authorizeUrl: 'https://github.com/login/oauth/authorize',
      tokenUrl: `${vendor.origin}/token`,
      userUrl: `${vendor.origin}/user`,
      ...CLIENT,
      scopes: ['read:user', 'read:org'],
      allowPrivateIP: true,
      ...more,
    },
  },
]

const opened = (t: TestContext, changed: Habits = {}): Promise<Vendor> =>
  new Vendor({ ...github, ...changed }).open(t)

contractSuite('login/oauth2', async (t) => {
  const vendor = await opened(t)
  return {
    list: listFor(vendor),
    fixtures: { person: { redirectUri: REDIRECT_URI, signIn: vendor.signIn } },
  }
})

test('a person signs in at GitHub, and is the number that GitHub counts people by', async (t) => {
  const vendor = await opened(t)
  const { provider, signIn } = await loginOf(t, listFor(vendor))
  assert.deepEqual(
    [provider.idp, provider.name, provider.accountsOf],
    ['https://github.com', 'github.com', 'everybody'],
  )
  const { subject, claims, tokens } = await signIn(vendor)
  assert.deepEqual([subject, claims], ['583231', octocat])
  assert.deepEqual(
    { ...tokens, access: vendor.accessTokens.has(tokens.access) },
    { access: true, refresh: undefined, id: undefined, expiresAt: undefined },
  )
})

test('a sign-in asks with PKCE and the scopes alone, and for no resource and no nonce', async (t) => {
  const vendor = await opened(t)
  const { provider } = await loginOf(t, listFor(vendor, { authorizeParams: { allow_signup: 'false' } }))
  const { url, state } = await provider.begin(REDIRECT_URI)
  const { code_challenge: challenge, ...query } = Object.fromEntries(new URL(url).searchParams)
  assert.ok(challenge)
  assert.deepEqual(query, {
    allow_signup: 'false',
    client_id: CLIENT.clientId,
    code_challenge_method: 'S256',
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    scope: 'read:user read:org',
    state,
  })
})

test('a token response that is a form is read like one in JSON', async (t) => {
  const gives = () => ({ expires_in: 28_800, refresh_token: 'first' })
  const vendor = await opened(t, { answers: 'form', gives })
  const { signIn } = await loginOf(t, listFor(vendor))
  const { subject, tokens } = await signIn(vendor)
  assert.deepEqual([subject, tokens.refresh], ['583231', 'first'])
  assert.ok(Math.abs((tokens.expiresAt ?? 0) - Date.now() - 28_800_000) < 60_000)
})

test('the claims of `ask` are requested at each sign-in and each refresh', async (t) => {
  let current: unknown = teams
  const vendor = await opened(t, {
    described: { '/user': () => octocat, '/user/teams': () => current },
  })
  const ask = [{ claim: 'teams', url: `${vendor.origin}/user/teams`, each: 'html_url' }]
  const { provider, signIn } = await loginOf(t, listFor(vendor, { ask }))
  const login = await signIn(vendor)
  assert.deepEqual(
    login.claims['teams'],
    teams.map(({ html_url: url }) => url),
  )
  current = [{ slug: 'no-url' }]
  const later = await provider.refresh(login)
  assert.ok(later !== 'ended')
  assert.deepEqual([later.subject, later.claims['teams']], ['583231', []])
})

test('a login ends when the provider refuses its token, and only then', async (t) => {
  let person: object = octocat
  const vendor = await opened(t, {
    described: {
      '/user': () => person,
    },
  })
  const { provider, signIn } = await loginOf(t, listFor(vendor))
  const login = await signIn(vendor)
  assert.notEqual(await provider.refresh(login), 'ended')
  person = { ...octocat, id: 2 }
  assert.equal(await provider.refresh(login), 'ended', 'the token is of another person now')
  person = octocat
  vendor.accessTokens.clear()
  assert.equal(await provider.refresh(login), 'ended')
})

test('a refresh token that GitHub refuses with status 200 ends the login', async (t) => {
  const vendor = await opened(t, { gives: () => ({ refresh_token: 'ghr' }) })
  const { provider, signIn } = await loginOf(t, listFor(vendor))
  const login = await signIn(vendor)
  assert.notEqual(await provider.refresh(login), 'ended')
  vendor.refreshTokens.clear()
  assert.equal(await provider.refresh(login), 'ended')
})

// These responses do not describe the person: a refresh throws, and the login may go on later.
const away: readonly (readonly [what: string, described: Habits['described'], code: string])[] = [
  ['a page that is missing', {}, 'SIGN_IN_UNAVAILABLE'],
  ['a list in place of a person', { '/user': () => [octocat] }, 'SIGN_IN_UNSUPPORTED'],
  ['a person without an id', { '/user': () => ({ login: 'octocat' }) }, 'SIGN_IN_UNSUPPORTED'],
]

for (const [what, described = {}, code] of away) {
  test(`a provider that answers with ${what} signs no person in and ends no login`, async (t) => {
    const vendor = await opened(t, { described })
    const { provider, signIn } = await loginOf(t, listFor(vendor))
    await assert.rejects(signIn(vendor), { code })
    const login = { subject: '583231', claims: {}, tokens: { access: [...vendor.accessTokens][0] ?? '' } }
    await assert.rejects(provider.refresh(login), { code })
  })
}

const authentications: readonly (readonly [how: 'basic' | 'post', header: boolean])[] = [
  ['basic', true],
  ['post', false],
]

for (const [clientAuthentication, inHeader] of authentications) {
  test(`a client with clientAuthentication: ${clientAuthentication} is authenticated that way`, async (t) => {
    const vendor = await opened(t)
    const { signIn } = await loginOf(t, listFor(vendor, { clientAuthentication }))
    await signIn(vendor)
    const { form, headers } = vendor.asked.find(({ path }) => path === '/token') ?? assert.fail()
    assert.equal(headers.authorization !== undefined, inHeader)
    assert.equal(form.has('client_secret'), !inHeader)
  })
}

test('another `subject` is another way to name people, so the provider is another one', async (t) => {
  const vendor = await opened(t)
  const { provider, signIn } = await loginOf(t, listFor(vendor, { subject: 'login' }))
  assert.equal(provider.idp, 'https://github.com#login')
  assert.equal((await signIn(vendor)).subject, 'octocat')
})

test('no secret, code or token is in the log of a sign-in', async (t) => {
  const vendor = await opened(t, { gives: () => ({ refresh_token: 'the-refresh-token' }) })
  const { provider, signIn, lines } = await loginOf(t, listFor(vendor))
  const { tokens } = await signIn(vendor)
  const { url, checks } = await provider.begin(REDIRECT_URI)
  await assert.rejects(provider.finish('?code=the-code&state=x', checks, REDIRECT_URI))
  const log = JSON.stringify(lines)
  for (const secret of [CLIENT.clientSecret, tokens.access, 'the-refresh-token', 'the-code', url])
    assert.ok(!log.includes(secret), secret)
})

const GOOD = {
  authorizeUrl: 'https://idp.example/authorize',
  tokenUrl: 'https://idp.example/token',
  userUrl: 'https://idp.example/user',
  clientId: 'gateway',
}

// All of an entry are reported at once.
const mistakes: readonly (readonly [what: string, options: object, ...problems: Problem[]])[] = [
  ['http off loopback', { tokenUrl: 'http://idp.example/token' }, ['tokenUrl', /expected https/]],
  [
    'three URLs that are none',
    { authorizeUrl: 'a', tokenUrl: 'b', userUrl: '' },
    ['authorizeUrl', /URL/],
    ['tokenUrl', /URL/],
    ['userUrl', /URL/],
  ],
  ['a private address', { userUrl: 'https://10.0.0.1/user' }, ['allowPrivateIP', /is needed/]],
  [
    'two secrets and a parameter of the sign-in itself',
    { clientSecret: 'a', clientSecretFile: 'b', authorizeParams: { state: 'x', prompt: 'login' } },
    ['clientSecretFile', /expected one of the two/],
    ['authorizeParams.state', /take it out/],
  ],
  [
    '`resource`, which many providers refuse',
    { authorizeParams: { resource: 'x' } },
    ['authorizeParams.resource', /take it out/],
  ],
  ['the scope `openid`', { scopes: ['read', 'openid'] }, ['scopes[1]', /use login\/oidc/]],
  ['a scope with a space', { scopes: ['a b'] }, ['scopes[0]', /scope/]],
  [
    'a question by plain http',
    { ask: [{ claim: 'teams', url: 'http://idp.example/teams' }] },
    ['ask[0].url', /expected https/],
  ],
  ['an option that there is not', { issuerUrl: 'https://idp.example' }, ['issuerUrl', /unknown option/]],
  [
    'files that are missing',
    { clientSecretFile: './none', caCertPath: './none' },
    ['clientSecretFile', /none/],
    ['caCertPath', /none/],
  ],
]

for (const [what, options, ...expected] of mistakes) {
  test(`login/oauth2 with ${what} stops the start, with the place and what to do`, async (t) => {
    await refuses(t, [{ use: 'login/oauth2', with: { ...GOOD, ...options } }], expected)
  })
}

test('ATK-EMAIL: an e-mail address that is not verified names nobody', async (t) => {
  const person = { email: 'boss@example.com', email_verified: false }
  const vendor = await opened(t, { described: { '/user': () => person } })
  const { signIn } = await loginOf(t, listFor(vendor, { subject: 'email' }))
  await assert.rejects(signIn(vendor), { code: 'SIGN_IN_UNSUPPORTED' })
  person.email_verified = true
  assert.equal((await signIn(vendor)).subject, 'boss@example.com')
})
