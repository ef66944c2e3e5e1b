import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RegistrySettings, registry } from 'sallyport/presets/registry'
import { booted, recordedLog } from 'sallyport/testing'

const METADATA = '/.well-known/oauth-protected-resource'
const origin = 'https://elsewhere.example'

const settings = (allowedOrigins: readonly string[], address = '0.0.0.0:0') =>
  RegistrySettings.parse({
    address,
    allowedOrigins,
    stateDirectory: null,
    auth: {
      oauth: {
        resourceUrl: 'https://registry.example.com',
        providers: [{ name: 'corp', issuerUrl: 'https://idp.example', audience: 'registry' }],
      },
    },
  })

test('pages of any origin can read the metadata of the resource, and pages of listed origins the API', async (t) => {
  for (const allowed of [[], ['https://app.example.com']]) {
    const app = await booted(t, registry(settings(allowed)))
    const read = await app.inject({ url: METADATA, headers: { origin } })
    assert.equal(read.statusCode, 200)
    assert.equal(read.headers['access-control-allow-origin'], '*')
    const preflight = await app.inject({
      method: 'OPTIONS',
      url: METADATA,
      headers: {
        origin,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'mcp-protocol-version',
      },
    })
    assert.equal(preflight.statusCode, 204)
    assert.equal(preflight.headers['access-control-allow-origin'], '*')
    for (const url of ['/openapi.json', '/registry/default/v0.1/servers', `${METADATA}/other`])
      assert.equal((await app.inject({ url, headers: { origin } })).statusCode, 403, url)
  }
})

test('on loopback a foreign page cannot read the metadata either', async (t) => {
  const app = await booted(t, registry(settings(['https://app.example.com'], '127.0.0.1:0')))
  assert.equal((await app.inject({ url: METADATA, headers: { origin } })).statusCode, 403)
})

test('one line at the start says that pages in browsers cannot use the API', async (t) => {
  const countOfLogLines = async (...given: Parameters<typeof settings>) => {
    const { log, lines } = recordedLog()
    await booted(t, registry(settings(...given)), { log })
    return lines.filter(({ msg }) => /pages in browsers cannot/.test(String(msg))).length
  }
  assert.equal(await countOfLogLines([]), 1)
  assert.equal(await countOfLogLines(['https://app.example.com']), 0)
  assert.equal(await countOfLogLines([], '127.0.0.1:0'), 0)
})

test('the description of the API lists the metadata routes, which need no token', async (t) => {
  const app = await booted(t, registry(settings([])))
  const { paths } = (await app.inject('/openapi.json')).json()
  assert.deepEqual(paths[METADATA].get.security, [])
  assert.ok(paths[METADATA].get.responses[200].content['application/json'])
  assert.ok(paths['/registry/{registry}/v0.1/servers'])
  assert.ok(paths['/openapi.json'])
})
