import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageOf } from 'sallyport/toolkit'

test('what was thrown is told, also where it is no error', () => {
  assert.equal(messageOf(new TypeError('it failed')), 'it failed')
  assert.equal(messageOf('it failed'), 'it failed')
  assert.equal(messageOf(undefined), 'undefined')
})
