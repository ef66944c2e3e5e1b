import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePlugin, StateStore } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { serving } from '#kit/booted.js'
import { storeSuite } from './storing.js'

contractSuite('state/memory', () => ({ list: [{ use: 'state/memory' }] }))

storeSuite('state/memory', () => ({ use: 'state/memory' }))

test('a reload keeps the stored values', async (t) => {
  let store: () => StateStore = () => assert.fail('nothing was set up')
  const user = () =>
    definePlugin({
      name: 'user',
      api: 1,
      requires: [StateStore],
      setup: (gateway) => {
        store = gateway.use(StateStore)
      },
    })
  const running = await serving(t, [{ use: 'state/memory' }, { use: user() }])
  await store().set('login', 'a token')
  const before = store

  await running.swap([{ use: 'state/memory' }, { use: user() }])

  assert.notEqual(store, before)
  assert.equal(await store().get('login'), 'a token')
})
