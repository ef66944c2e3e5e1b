import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isScope, scopeToken } from '#core/toolkit/scope.js'

test('a scope is printable ASCII without spaces, quotes and backslashes', () => {
  const character = fc.constantFrom(
    ' ',
    '!',
    '"',
    '#',
    '[',
    '\\',
    ']',
    '~',
    '\u007f',
    '\u0000',
    '\n',
    'a',
    'é',
    ':',
  )
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 5 }), (text) => {
      const isExpected =
        text !== '' && text.split('').every((each) => each > ' ' && each < '\u007f' && !'"\\'.includes(each))
      assert.equal(isScope(text), isExpected)
      assert.equal(scopeToken().safeParse(text).success, isExpected)
    }),
  )
})
