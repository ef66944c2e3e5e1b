import assert from 'node:assert/strict'
import { test } from 'node:test'
import { many, one } from 'sallyport'
import { booted } from '#kit/booted.js'
import { plugin, providing } from '#kit/plugin.js'

test('two copies of a contract file name the same capability', async (t) => {
  const [theirs, ours] = [many<string>('spice'), many<string>('spice')]
  const found: (readonly string[])[] = []
  const give = providing('give', theirs, 'pepper')
  const take = plugin('take', (gateway) => {
    const all = gateway.use(ours)
    gateway.onStart(() => void found.push(all()))
  })
  await booted(t, [give, take])

  assert.deepEqual(found, [['pepper']])
  assert.notEqual(one('spice').token, one('salt').token)
})
