import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { List } from 'sallyport'
import { failureOf } from '#plugins/login/flow/failures.js'
import { CLIENT, type Habits, loginOf, REDIRECT_URI, Vendor } from '../vendors.js'

const CORP = 'https://idp.corp.example'
const corp: Habits = { issuer: CORP, claims: () => ({ sub: 'alice' }) }
const SHOWN = 'what the page shows'

interface Expected {
  readonly status: number
  readonly code: string
  readonly sentence?: RegExp
  readonly advice?: RegExp
}

/** The failure of a sign-in that the vendor answers with these habits, or with a changed query. */
async function failed(t: TestContext, habits: Habits, query?: (answer: string) => string, more: object = {}) {
  const vendor = await new Vendor({ ...corp, ...habits }).open(t)
  const login = { issuerUrl: CORP, ...CLIENT, allowPrivateIP: true, ...more }
  const list: List = [vendor.metadata, { use: 'login/oidc', with: login }]
  const { provider } = await loginOf(t, list)
  const { url, checks } = await provider.begin(REDIRECT_URI)
  const answer = await vendor.signIn(url)
  const finishing = provider.finish(query?.(answer) ?? answer, checks, REDIRECT_URI)
  const error = await finishing.then(
    () => assert.fail('the person is signed in'),
    (thrown: unknown) => thrown,
  )
  return { failure: failureOf(error, SHOWN), code: new URLSearchParams(answer).get('code') }
}

const refuses = (error: string, description: string): Habits => ({
  refuses: () => ({ error, error_description: description }),
})

const rows: readonly (readonly [
  what: string,
  expected: Expected,
  habits: Habits,
  query?: (answer: string) => string,
  options?: object,
])[] = [
  [
    'Entra ID refuses `resource`',
    { status: 502, code: 'sign_in_refused', sentence: /AADSTS9010010: no match \(invalid_target\)/ },
    refuses('invalid_target', 'AADSTS9010010: no match'),
  ],
  [
    'a person does not consent, or an administrator has not',
    {
      status: 403,
      code: 'sign_in_refused',
      sentence: /AADSTS90094/,
      advice: /whether this account may/,
    },
    refuses('access_denied', 'AADSTS90094: consent is needed'),
  ],
  [
    'the provider is busy',
    { status: 503, code: 'sign_in_refused' },
    refuses('temporarily_unavailable', 'come back later'),
  ],
  [
    'GitHub does not know the code, and answers with status 200',
    { status: 502, code: 'sign_in_failed', sentence: /bad_verification_code/ },
    { errorStatus: 200, errors: ['bad_verification_code', 'bad_refresh_token'] },
    (answer) => answer.replace(/code=\w+/, 'code=another'),
  ],
  [
    'the secret is wrong',
    { status: 502, code: 'sign_in_failed', advice: /check clientId, its secret/ },
    {},
    undefined,
    { clientSecret: 'wrong' },
  ],
  [
    'the token endpoint fails',
    { status: 503, code: 'sign_in_unavailable', sentence: /cannot be reached/ },
    { errorStatus: 500 },
    (answer) => answer.replace(/code=\w+/, 'code=another'),
  ],
  [
    'the answer has another state',
    { status: 502, code: 'sign_in_mixed_up', sentence: /none of/ },
    {},
    (answer) => answer.replace(/state=[\w-]+/, 'state=another'),
  ],
  [
    'the ID token lacks the claim of `subject`',
    { status: 502, code: 'sign_in_unsupported', sentence: /gives no claim oid/ },
    {},
    undefined,
    { subject: 'oid' },
  ],
]

for (const [what, { status, code, sentence = /./, advice = /./ }, habits, query, options] of rows) {
  test(`the page says so when ${what}: ${status} ${code}`, async (t) => {
    const found = await failed(t, habits, query, options)
    assert.deepEqual(
      [found.failure.status, found.failure.code],
      [status, code],
      JSON.stringify(found.failure),
    )
    assert.match(found.failure.sentence, sentence)
    assert.match(found.failure.advice, advice)
    const written = JSON.stringify(found.failure)
    for (const secret of [found.code, CLIENT.clientSecret])
      assert.ok(secret === null || !written.includes(secret), secret ?? '')
  })
}
