import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { networkOf } from 'sallyport/toolkit'

test('all spellings of the addresses of one /64 are one network, and other addresses are not', () => {
  for (const same of ['192.0.2.1', '::ffff:192.0.2.1', '["corp","alice"]', ''])
    assert.equal(networkOf(same), same)
  assert.equal(networkOf('::1'), '0:0:0:0::/64')
  const group = fc.integer({ min: 0, max: 0xffff })
  const eight = fc.array(group, { minLength: 8, maxLength: 8 })
  fc.assert(
    fc.property(eight, (groups) => {
      const text = groups.map((each) => each.toString(16)).join(':')
      const expected = `${text.split(':').slice(0, 4).join(':')}::/64`
      assert.equal(networkOf(text), expected)
      // The short form, as Node writes it.
      const short = new URL(`http://[${text}]`).hostname.slice(1, -1)
      assert.equal(networkOf(short), expected)
    }),
  )
})
