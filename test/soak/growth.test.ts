import assert from 'node:assert/strict'
import { test } from 'node:test'
import { growth } from './growth.js'

const samples = (valueAt: (second: number) => number) =>
  Array.from({ length: 300 }, (_, second) => ({ at: second * 1000, value: valueAt(second) }))

/** Rises and falls as the memory of a process with a garbage collector. */
const sawtooth = (second: number): number => (second % 17) * 3

test('growth of a value that rises and falls is near 0', () => {
  assert.ok(Math.abs(growth(samples(sawtooth))) < 5)
})

test('growth shows a slow leak under a value that rises and falls', () => {
  const grown = growth(samples((second) => sawtooth(second) + second / 5))
  assert.ok(grown > 50 && grown < 70, String(grown))
})

test('growth ignores a single step, and a single wrong window', () => {
  assert.ok(growth(samples((second) => (second < 20 ? 0 : 30))) < 5)
  assert.ok(growth(samples((second) => (second > 150 && second < 190 ? 90 : 0))) < 5)
})
