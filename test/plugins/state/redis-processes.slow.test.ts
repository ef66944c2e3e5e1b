import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noRedis, testRedis } from '#kit/redis.js'
import { another, holding, storing } from './storing.js'

const skip = noRedis ?? false

test('three processes write under one lock, and the lock of a killed one is free after a while', {
  skip,
}, async (t) => {
  const { url } = await testRedis(t)
  const entry = { use: 'state/redis', with: { url, passphrase: 'open sesame' } }
  const { store } = await storing(t, [entry])
  const counting = Array.from({ length: 3 }, () => another(t, entry, 'add').closed)
  const codes = (await Promise.all(counting)).map(([code]) => code)
  assert.deepEqual([codes, await store.get('key')], [[0, 0, 0], '30'])

  const holder = await holding(t, entry)
  await holder.killed()

  await store.locked('key', () => store.set('key', 'taken over'))
  assert.equal(await store.get('key'), 'taken over')
})
