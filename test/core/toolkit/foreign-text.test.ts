import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainCode, plainText, plainWords } from '#core/toolkit/foreign-text.js'

test('text from another party loses line breaks and control characters, and is cut', () => {
  assert.equal(plainCode('invalid_grant\r\n\u001b[31m\u202e'), 'invalid_grant31m')
  assert.equal(plainCode('x'.repeat(1_000)).length, 60)
  assert.equal(plainText('not\nyou\u001b\u202e!'), 'not you  !')
  assert.equal(plainText('é'.repeat(1_000)), ' '.repeat(300))
})

test('a word that may be a token is removed, also at the cut', () => {
  assert.equal(plainWords(`the code ${'x'.repeat(20)} is not valid`), 'the code ... is not valid')
  const words = 'word '.repeat(58)
  assert.equal(plainWords(`${words}${'x'.repeat(40)}`), `${words}...`)
})
