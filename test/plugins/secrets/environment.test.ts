import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contractSuite } from 'sallyport/testing'
import { variables } from '#kit/variables.js'
import { storesOf } from './stores.js'

contractSuite('secrets/environment', () => ({ list: [{ use: 'secrets/environment' }] }))

test('a secret of the environment is found by its name in capitals, and an empty variable is not a secret', async (t) => {
  variables(t, { SALLYPORT_SECRET_MY_KEY_2: 'value', SALLYPORT_SECRET_EMPTY: '' })
  const [store] = await storesOf(t, { use: 'secrets/environment' })

  assert.equal(await store?.get('my-key.2'), 'value')
  assert.equal(await store?.get('empty'), undefined)
  assert.equal(await store?.get('other'), undefined)
})
