import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byteSize } from 'sallyport/toolkit'

test('an option holds 0 or a number of bytes that is not below its least', () => {
  assert.equal(byteSize().parse('100MiB'), 100 * 1024 * 1024)
  assert.equal(byteSize().parse(1024), 1024)
  assert.equal(byteSize(65_536).parse('64KiB'), 65_536)
  for (const none of [0, '0']) assert.equal(byteSize(65_536).parse(none), 0)
  for (const wrong of ['63KiB', 5, '5', -1, 1.5, 'much', null]) {
    const [issue] = byteSize(65_536).safeParse(wrong).error?.issues ?? []
    assert.match(issue?.message ?? '', /^expected 0, or a number of bytes of at least 65536, such as/)
  }
})
