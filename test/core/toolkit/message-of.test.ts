import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageOf } from 'sallyport/toolkit'

test('a thrown value has a message, also when it is no error', () => {
  assert.equal(messageOf(new TypeError('it failed')), 'it failed')
  assert.equal(messageOf('it failed'), 'it failed')
  assert.equal(messageOf(undefined), 'undefined')
})
