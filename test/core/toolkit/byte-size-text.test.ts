import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseSize } from '#core/toolkit/byte-size-text.js'

test('sizes have units in thousands and in 1024s, in any case', () => {
  assert.equal(parseSize('1024'), 1024)
  assert.equal(parseSize('16MiB'), 16 * 1024 * 1024)
  assert.equal(parseSize('1gb'), 1_000_000_000)
  assert.equal(parseSize('3KB'), 3000)
  assert.equal(parseSize('3kib'), 3072)
  assert.equal(parseSize('7B'), 7)
})

test('a text that only resembles a size is refused', () => {
  for (const text of ['', 'MiB', '1.5MiB', '-1', '1 MiB', '1M', '1iB', '0x10', '1e3', '99999999999999999']) {
    assert.equal(parseSize(text), undefined, text)
  }
})

test('a size is its number times its unit', () => {
  const units = { b: 1, KiB: 1024, MB: 1_000_000, GiB: 1024 ** 3 }
  fc.assert(
    fc.property(fc.nat(), fc.constantFrom(...Object.entries(units)), (count, [unit, size]) => {
      assert.equal(
        parseSize(`${count}${unit}`),
        Number.isSafeInteger(count * size) ? count * size : undefined,
      )
    }),
  )
})
