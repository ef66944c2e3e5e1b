import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePlugin, StateStore } from 'sallyport'
import { booted, contractSuite } from 'sallyport/testing'
import plugin from './index.js'

test('a plugin reads back the value that it stored', async (t) => {
  let found: string | undefined
  const keeping = definePlugin({
    name: 'keeping',
    api: 1,
    requires: [StateStore],
    setup(gateway) {
      const store = gateway.use(StateStore)
      gateway.onStart(async () => {
        await store().set('login/one', 'a token')
        found = await store().get('login/one')
      })
    },
  })
  await booted(t, [{ use: plugin }, { use: keeping }])
  assert.equal(found, 'a token')
})

contractSuite('my-state-store', () => ({ list: [{ use: plugin }] }))
