import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { timesSent } from 'sallyport/toolkit'

const names = fc.constantFrom('host', 'Host', 'HOST', 'hosts', 'x-host', 'authorization')
const values = fc.constantFrom('host', 'a', '')

test('headers are counted by name, in any case, and never by value', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(names, values), { maxLength: 8 }), (headers) => {
      const expected = headers.filter(([name]) => name.toLowerCase() === 'host').length
      assert.equal(timesSent(headers.flat(), 'host'), expected)
    }),
  )
})
