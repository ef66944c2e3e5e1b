import assert from 'node:assert/strict'
import { test } from 'node:test'
import { duration, LONGEST_WAIT } from 'sallyport/toolkit'

test('an option holds milliseconds, up to its limit', () => {
  assert.equal(duration().parse('1h30m'), 5_400_000)
  assert.equal(duration().parse(0), 0)
  assert.equal(duration(60_000).parse('1m'), 60_000)
  assert.equal(duration(60_000).safeParse('61s').error?.issues[0]?.message, 'expected 1m at most')
  for (const wrong of [5, '5', 'soon', null]) {
    assert.match(duration().safeParse(wrong).error?.issues[0]?.message ?? '', /^expected a duration such as/)
  }
})

test('the longest wait is one that a timer of Node takes', () => {
  assert.ok(LONGEST_WAIT < 2 ** 31)
})
