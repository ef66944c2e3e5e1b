import assert from 'node:assert/strict'
import { test } from 'node:test'
import { catalogue } from 'sallyport/builtin'
import { issuerUrl, targetUrl, webUrl } from 'sallyport/toolkit'
import { z } from 'zod'

const wrong = ['', 'collector:4318', 'ftp://a/b', 'http://[a', 'http://a:65536/mcp', 'http://a b/']

test('an invalid URL is reported as such, and hides no other problem', () => {
  const options = {
    'expected an http or https URL': webUrl(),
    'expected a URL of http or https': targetUrl(),
  }
  for (const [message, url] of Object.entries(options)) {
    const both = z
      .object({ url, other: z.string().optional() })
      .refine(({ other }) => other, 'other is missing')
    for (const text of wrong) {
      const { error } = both.safeParse({ url: text })
      assert.deepEqual(
        error?.issues.map((issue) => issue.message),
        [message, 'other is missing'],
        text,
      )
    }
    assert.equal(both.safeParse({ url: 'http://a/b', other: 'x' }).success, true)
  }
})

for (const [name, option] of [
  ['trace/otlp', (url: string) => ({ url, bearerTokenFile: 'x' })],
  ['forward/http', (target: string) => ({ target })],
  ['forward/balanced', (target: string) => ({ targets: ['http://a/mcp', target] })],
  ['listen/stdio', (target: string) => ({ target })],
  ['audit/http', (url: string) => ({ url, bearerTokenFile: 'x' })],
] as const) {
  test(`${name}: an invalid URL is one problem, and its schema does not throw`, async () => {
    const options = (await catalogue[name]?.())?.default.options
    for (const text of wrong) {
      const { issues } = (await options?.['~standard'].validate(option(text))) ?? {}
      const places = issues?.map(({ path }) => path?.[0])
      assert.deepEqual(new Set(places), new Set(Object.keys(option(text)).slice(0, 1)), text)
    }
  })
}

test('an issuer that no token can name is refused: the URL of its metadata, and the common tenants of Entra', () => {
  const microsoft = 'https://login.microsoftonline.com'
  const refused = [
    'https://idp.example.com/.well-known/openid-configuration',
    'https://idp.example.com/realms/a/.well-known/openid-configuration',
    'https://idp.example.com/.well-known/oauth-authorization-server/a',
    `${microsoft}/common/v2.0`,
    `${microsoft}/organizations/v2.0`,
    `${microsoft}/common`,
    'https://sts.windows.net/common/',
  ]
  for (const url of refused) assert.equal(issuerUrl().safeParse(url).success, false, url)
  const accepted = [
    'https://idp.example.com/common/',
    `${microsoft}/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0`,
    'https://idp.example.com/not.well-known',
    'https://idp.example.com/',
  ]
  for (const url of accepted) assert.equal(issuerUrl().safeParse(url).success, true, url)
  assert.equal(issuerUrl().safeParse('nonsense').error?.issues.length, 1)
})
