import assert from 'node:assert/strict'
import { test } from 'node:test'
import { authSection, incomingEntries } from 'sallyport/presets/incoming'
import { booted } from 'sallyport/testing'
import { fileRegistry, server } from '../registry/registry.js'

const oauth = {
  resourceUrl: 'https://registry.example.com',
  scopes: ['read'],
  providers: [{ name: 'corp', issuerUrl: 'https://idp.example', audience: 'registry' }],
}
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

test('a browser without a token gets a page that says how to get in, with the status and challenge of a 401', async (t) => {
  const { list } = fileRegistry(t, [server('a.example/one', '1.0.0')])
  const entries = incomingEntries(authSection.parse({ oauth }))
  const open = list.filter((entry) => !('use' in entry) || entry.use !== 'auth/anonymous')
  const app = await booted(t, [...open, ...entries, { use: 'pages/browse' }])
  const asked = (url: string, accept: string) => app.inject({ url, headers: { accept, host: 'inner:80' } })

  for (const [url, name] of [
    ['/registry/default', 'default'],
    ['/registry/default/v0.1/servers', 'default'],
    ['/nowhere', 'NAME'],
    // Nothing of the URL ends the quotes that it stands between.
    ["/registry/a';b'", 'a%27%3Bb%27'],
  ] as const) {
    const plain = await asked(url, 'application/json')
    const { statusCode, headers, body } = await asked(url, BROWSER)
    assert.equal(plain.headers['content-type'], 'application/json; charset=utf-8')
    assert.deepEqual(Object.keys(plain.json()), ['error', 'error_description', 'request_id'])
    assert.equal(statusCode, 401)
    assert.equal(headers['www-authenticate'], plain.headers['www-authenticate'])
    assert.match(String(headers['content-type']), /^text\/html/)
    assert.match(String(headers['content-security-policy']), /default-src 'none'/)
    assert.match(String(headers.vary), /Accept/)
    assert.ok(body.includes(`'https://registry.example.com/registry/${name}/v0.1/servers'`), body)
    assert.match(body, /<code>https:\/\/idp\.example<\/code>/)
    assert.match(body, /bearerTokenFile/)
    assert.doesNotMatch(body, /inner|\{"error"/)
  }
  assert.match((await asked('/', BROWSER)).body, /https:\/\/registry\.example\.com\/registry\/NAME\/v0\.1/)
  for (const accept of ['*/*', 'text/html;q=0', 'application/json, text/htmlx'])
    assert.match(String((await asked('/registry/default', accept)).headers['content-type']), /json/, accept)
})

test('a browser gets no raw JSON for an unknown path either, and nothing of the URL becomes markup', async (t) => {
  const { list } = fileRegistry(t, [server('a.example/one', '1.0.0')])
  const app = await booted(t, [...list, { use: 'pages/browse', with: { anonymous: true } }])
  const { statusCode, headers, body } = await app.inject({
    url: '/registry/default/v0.1/servers?limit=<b>',
    headers: { accept: BROWSER },
  })
  assert.equal(statusCode, 400)
  assert.match(String(headers['content-type']), /^text\/html/)
  assert.doesNotMatch(body, /<b>/)
})
