import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CLIENT, type Habits, loginOf, REDIRECT_URI, Vendor } from '../vendors.js'

const CORP = 'https://idp.corp.example'
const corp: Habits = { issuer: CORP, claims: () => ({ sub: 'alice' }) }

// A browser would be sent there with the sign-in, or the code and the secret.
const unusable: readonly (readonly [what: string, metadata: object, advice: RegExp])[] = [
  ['no PKCE with S256', { code_challenge_methods_supported: ['plain'] }, /PKCE with S256/],
  ['no authorization endpoint', { authorization_endpoint: undefined }, /authorization_endpoint/],
  ['a script for a page', { authorization_endpoint: 'javascript:alert(1)' }, /authorization_endpoint/],
  ['a page by plain http', { authorization_endpoint: 'http://idp.corp.example/a' }, /authorization_endpoint/],
  ['a token endpoint by plain http', { token_endpoint: 'http://idp.corp.example/t' }, /token_endpoint/],
]

for (const [what, metadata, message] of unusable) {
  test(`a person cannot begin to sign in at a provider with ${what}`, async (t) => {
    const vendor = await new Vendor({ ...corp, metadata: { ...metadata } }).open(t)
    const login = { issuerUrl: CORP, ...CLIENT, allowPrivateIP: true }
    const { provider } = await loginOf(t, [vendor.metadata, { use: 'login/oidc', with: login }])
    await assert.rejects(provider.begin(REDIRECT_URI), { code: 'SIGN_IN_UNSUPPORTED', message })
  })
}

test('a code is redeemed with the redirect URI and the verifier of its sign-in, and once', async (t) => {
  const vendor = await new Vendor(corp).open(t)
  const login = { issuerUrl: CORP, ...CLIENT, allowPrivateIP: true }
  const { provider } = await loginOf(t, [vendor.metadata, { use: 'login/oidc', with: login }])
  const [one, other] = [await provider.begin(REDIRECT_URI), await provider.begin(REDIRECT_URI)]
  const query = await vendor.signIn(one.url)
  const injected = query.replace(encodeURIComponent(one.state), encodeURIComponent(other.state))
  await assert.rejects(provider.finish(injected, other.checks, REDIRECT_URI))
  const good = await vendor.signIn(one.url)
  assert.equal((await provider.finish(good, one.checks, REDIRECT_URI)).subject, 'alice')
  await assert.rejects(provider.finish(good, one.checks, REDIRECT_URI))
  const sent = vendor.asked.filter(({ path }) => path === '/token')
  assert.deepEqual(
    sent.map(({ form }) => form.get('redirect_uri')),
    [REDIRECT_URI, REDIRECT_URI, REDIRECT_URI],
  )
})
