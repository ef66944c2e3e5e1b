import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { contractSuite } from 'sallyport/testing'
import { storesOf } from './stores.js'

contractSuite('secrets/environment', () => ({ list: [{ use: 'secrets/environment' }] }))

function withVariable(t: TestContext, name: string, value: string): void {
  const before = process.env[name]
  process.env[name] = value
  t.after(() => {
    if (before === undefined) delete process.env[name]
    else process.env[name] = before
  })
}

test('a secret of the environment is found by its name in capitals, and an empty variable is not a secret', async (t) => {
  withVariable(t, 'SALLYPORT_SECRET_MY_KEY_2', 'value')
  withVariable(t, 'SALLYPORT_SECRET_EMPTY', '')
  const [store] = await storesOf(t, { use: 'secrets/environment' })

  assert.equal(await store?.get('my-key.2'), 'value')
  assert.equal(await store?.get('empty'), undefined)
  assert.equal(await store?.get('other'), undefined)
})
