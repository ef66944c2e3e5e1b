import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutFaults } from '#core/kernel/without-faults.js'

const whole = { a: 1, list: [{ n: 0 }, { n: 1 }, { n: 2, m: 'x' }], deep: { b: { c: 3 } } }

test('faulty values are gone from the copy, and the original stays', () => {
  const before = structuredClone(whole)
  const { value } = withoutFaults(whole, [['a'], ['list', 1], ['list', 2, 'm'], ['deep', 'b', 'none']])

  assert.deepEqual(value, { list: [{ n: 0 }, { n: 2 }], deep: { b: { c: 3 } } })
  assert.deepEqual(whole, before)
})

test('a path in the copy leads back to where it was written', () => {
  const { written } = withoutFaults(whole, [['list', 0]])

  assert.deepEqual(written(['list', 0, 'n']), ['list', 1, 'n'])
  assert.deepEqual(written(['list', 1, 'none']), ['list', 2, 'none'])
  assert.deepEqual(written(['list', 5]), ['list', 5])
  assert.deepEqual(written(['deep', 'b', 'c']), ['deep', 'b', 'c'])
})

test('nothing is left when the root is faulty', () => {
  assert.equal(withoutFaults(whole, [[]]).value, undefined)
})
