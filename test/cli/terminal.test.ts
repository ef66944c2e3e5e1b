import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { printable } from '#cli/terminal.js'

test('control and bidirectional characters are shown as codes', () => {
  assert.equal(
    printable('a\n\u001b[31mb\u0085 \u202ec\u2066\u2028\u2029'),
    'a\\x0a\\x1b[31mb\\x85 \\u202ec\\u2066\\u2028\\u2029',
  )
  assert.equal(printable('ä 名 \u{1f600} \\'), 'ä 名 \u{1f600} \\')
})

test('any text becomes one line without commands to the terminal', () => {
  const unit = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 1 }),
    fc.constantFrom('\u2028', '\u200e', '\u061c', '\u009b'),
  )
  fc.assert(
    fc.property(fc.array(unit), (units) => {
      const shown = printable(units.join(''))
      assert.doesNotMatch(shown, /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u)
      assert.equal(printable(shown), shown)
    }),
  )
})
