import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainCode, plainText } from '#core/toolkit/foreign-text.js'

test('what somebody else sent has neither line breaks nor control characters, and an end', () => {
  assert.equal(plainCode('invalid_grant\r\n\u001b[31m\u202e'), 'invalid_grant31m')
  assert.equal(plainCode('x'.repeat(1_000)).length, 60)
  assert.equal(plainText('not\nyou\u001b\u202e!'), 'not you  !')
  assert.equal(plainText('é'.repeat(1_000)), ' '.repeat(300))
})
