import assert from 'node:assert/strict'
import { test } from 'node:test'
import { growth } from './growth.js'

const samples = (valueAt: (second: number) => number) =>
  Array.from({ length: 300 }, (_, second) => ({ at: second * 1000, value: valueAt(second) }))

/** Up and down as the memory of a process that collects now and then. */
const sawtooth = (second: number): number => (second % 17) * 3

test('what goes up and down does not grow', () => {
  assert.ok(Math.abs(growth(samples(sawtooth))) < 5)
})

test('a slow leak under it is seen', () => {
  const grown = growth(samples((second) => sawtooth(second) + second / 5))
  assert.ok(grown > 50 && grown < 70, String(grown))
})

test('one step that stays is no slope, and neither is one window that is off', () => {
  assert.ok(growth(samples((second) => (second < 20 ? 0 : 30))) < 5)
  assert.ok(growth(samples((second) => (second > 150 && second < 190 ? 90 : 0))) < 5)
})
