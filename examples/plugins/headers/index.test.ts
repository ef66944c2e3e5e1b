import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contractSuite, listening, serving } from 'sallyport/testing'
import plugin from './index.js'

test('the target gets the header of the gateway, and not the one of the caller', async (t) => {
  const target = await listening(t, ({ headers }, response) => response.end(headers['x-gateway']))
  const { addresses } = await serving(t, [
    { use: 'listen/http', with: { address: '127.0.0.1:0' } },
    { use: 'auth/anonymous' },
    { use: plugin, with: { name: 'mine' } },
    { use: 'forward/http', with: { target } },
  ])
  const response = await fetch(addresses.main ?? '', { headers: { 'x-gateway': 'theirs' } })
  assert.equal(await response.text(), 'mine')
})

contractSuite('my-headers', () => ({ list: [{ use: plugin, with: { name: 'mine' } }] }))
