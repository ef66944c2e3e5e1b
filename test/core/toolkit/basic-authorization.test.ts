import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { basicAuthorization } from 'sallyport/toolkit'

test('client id and secret round-trip whatever characters they have (RFC 6749, 2.3.1)', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (id, secret) => {
      const [scheme, encoded = ''] = basicAuthorization(id, secret).split(' ')
      assert.equal(scheme, 'Basic')
      const parts = Buffer.from(encoded, 'base64').toString().split(':')
      const read = parts.map((part) => new URLSearchParams(`x=${part}`).get('x'))
      assert.deepEqual(read, [id, secret])
    }),
  )
})
