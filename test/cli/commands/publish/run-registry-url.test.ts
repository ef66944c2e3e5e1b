import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { apiUrlOf } from '#cli/commands/publish/run.js'

const hrefOf = (written: string): string => {
  const api = apiUrlOf(written)
  return 'url' in api ? api.url.href : api.message
}

test('the URL of a registry, of either of its APIs, and with or without a slash is the same registry', () => {
  const api = 'https://host.example/registry/default/v0.1'
  for (const end of ['', '/', '/v0', '/v0/', '/v0.1', '/v0.1/'])
    assert.equal(hrefOf(`https://host.example/registry/default${end}`), api)
  assert.equal(hrefOf('https://host.example'), 'https://host.example/v0.1')
  assert.equal(hrefOf('https://host.example/registry/v0x'), 'https://host.example/registry/v0x/v0.1')
})

test('for any path, the API is below it, at the same origin', () => {
  fc.assert(
    fc.property(fc.webUrl(), (written) => {
      const api = hrefOf(written)
      assert.equal(new URL(api).origin, new URL(written).origin)
      assert.ok(api.endsWith('/v0.1'))
      assert.equal(hrefOf(api), api)
    }),
  )
})
