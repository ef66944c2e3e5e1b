import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { HOUR, twoClocks } from '#kit/two-clocks.js'
import { NameQuota } from '#plugins/limit/requests/name-quota.js'

test('a caller may introduce a limited number of names in a span, and a known name uses no quota', () => {
  let now = 0
  const quota = new NameQuota(1_000, 2, () => now)
  const admits = (caller: string, ...names: readonly string[]) =>
    names.map((name) => quota.admits(caller, name))
  assert.deepEqual(admits('a', 'x', 'y', 'x', 'z', 'y'), [true, true, true, false, true])
  assert.deepEqual(admits('b', 'x', 'y', 'p', 'q', 'r'), [true, true, true, true, false])
  assert.deepEqual(admits('a', 'p', 'r'), [true, false])

  now = 1_000

  assert.deepEqual(admits('a', 'r', 'z', 'x'), [true, true, false])
})

test('a span of names ends in time, although the clock went back an hour', (t) => {
  const clock = twoClocks(t)
  const quota = new NameQuota(1_000, 1)
  assert.deepEqual([quota.admits('a', 'x'), quota.admits('a', 'y')], [true, false])
  clock.set(-HOUR)
  clock.passed(1_001)
  assert.equal(quota.admits('a', 'y'), true)
})

test('no caller introduces more names than the quota, for any names', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', '__proto__', 'constructor'))
  fc.assert(
    fc.property(fc.uniqueArray(text, { minLength: 5, maxLength: 20 }), text, (names, caller) => {
      const quota = new NameQuota(1_000, 4, () => 0)
      assert.equal(names.filter((name) => quota.admits(caller, name)).length, 4)
    }),
  )
})

test('a flood of names or callers evicts those whose span began first', () => {
  let now = 0
  const quota = new NameQuota(1_000, 1, () => now)
  assert.equal(quota.admits('a', 'x'), true)
  now = 500
  for (let other = 0; other < 99_999; other++) assert.ok(quota.admits(`${other}`, `name ${other}`))
  now = 1_000
  assert.equal(quota.admits('a', 'x'), true)

  assert.equal(quota.admits('last', 'one more'), true)

  assert.deepEqual(
    ['x', 'one more', 'name 99998', 'name 0', 'y'].map((name) => quota.admits('a', name)),
    [true, true, true, false, false],
  )
  assert.deepEqual(
    ['last', '99998', '0'].map((caller) => quota.admits(caller, 'y')),
    [false, false, true],
  )
})
