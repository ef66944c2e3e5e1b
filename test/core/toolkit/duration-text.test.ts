import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { durationText, parseDuration } from '#core/toolkit/duration-text.js'

test('a duration is whole numbers with units from large to small', () => {
  assert.equal(parseDuration('1h30m'), 5_400_000)
  assert.equal(parseDuration('2m30s'), 150_000)
  assert.equal(parseDuration('500ms'), 500)
  assert.equal(parseDuration('0'), 0)
  for (const wrong of [
    '',
    '5',
    '-1s',
    '1.5s',
    '1s1h',
    '1s1s',
    ' 1s',
    '1 s',
    '1d',
    'ms',
    '99999999999999999h',
  ]) {
    assert.equal(parseDuration(wrong), undefined, wrong)
  }
})

test('every duration round-trips', () => {
  fc.assert(
    fc.property(fc.nat({ max: 10 ** 12 }), (milliseconds) => {
      assert.equal(parseDuration(durationText(milliseconds)), milliseconds)
    }),
  )
})
