import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contractSuite, serving } from 'sallyport/testing'
import plugin from './index.js'

test('`/readiness` shows too much memory, and the gateway still serves', async (t) => {
  const { addresses } = await serving(t, [
    { use: 'internal/server', with: { address: '127.0.0.1:0' } },
    { use: plugin, with: { mebibytes: 1 } },
  ])
  const response = await fetch(`${addresses.internal}/readiness`)
  assert.equal(response.status, 200)
  assert.match(await response.text(), /MiB of memory/)
})

contractSuite('my-health', () => ({ list: [{ use: plugin }] }))
