import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePlugin, many, one } from 'sallyport'
import { booted } from '#kit/booted.js'

test('two copies of a contract file name the same capability', async (t) => {
  const [theirs, ours] = [many<string>('spice'), many<string>('spice')]
  const found: (readonly string[])[] = []
  const give = definePlugin({
    name: 'give',
    api: 1,
    provides: [theirs],
    setup: (gateway) => gateway.provide(theirs, 'pepper'),
  })
  const take = definePlugin({
    name: 'take',
    api: 1,
    setup(gateway) {
      const all = gateway.use(ours)
      gateway.onStart(() => void found.push(all()))
    },
  })
  await booted(t, [{ use: give }, { use: take }])

  assert.deepEqual(found, [['pepper']])
  assert.notEqual(one('spice').token, one('salt').token)
})
