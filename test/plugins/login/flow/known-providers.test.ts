import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountsAt } from '#plugins/login/flow/known-providers.js'

const rows: readonly (readonly [accounts: 'everybody' | 'organisation', ...urls: string[]])[] = [
  [
    'everybody',
    'https://accounts.google.com',
    'https://github.com/login/oauth/authorize',
    'https://gitlab.com',
    'https://login.microsoftonline.com/common/v2.0',
    'https://login.microsoftonline.com/Organizations/v2.0',
    'https://login.microsoftonline.com/consumers/v2.0',
    'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
    'https://login.microsoftonline.us/common/v2.0',
    'https://login.microsoft.com/common/oauth2/v2.0/authorize',
    'https://login.windows.net/common/oauth2/authorize',
    'https://login.microsoftonline.com//common/oauth2/v2.0/authorize',
  ],
  [
    'organisation',
    'https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0',
    'https://github.example.com/login/oauth/authorize',
    'https://keycloak.example.com/realms/common',
    'https://example.okta.com',
  ],
]

for (const [accounts, ...urls] of rows) {
  test(`these providers have the accounts of ${accounts}`, () => {
    for (const url of urls) assert.equal(accountsAt(url).accountsOf, accounts, url)
  })
}
