import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { pathOfText, pathText } from '#core/toolkit/path-text.js'

test('a path round-trips through its text, whatever its keys are', () => {
  const step = fc.oneof(
    fc.nat(),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', '.', ']', '"', '0', '__proto__'),
  )
  fc.assert(fc.property(fc.array(step), (path) => assert.deepEqual(pathOfText(pathText(path)), path)))
})

test('every text can be read as a path', () => {
  fc.assert(fc.property(fc.string(), (text) => void pathOfText(text)))
  assert.deepEqual(pathOfText('rules[2].allow[0]'), ['rules', 2, 'allow', 0])
})
