import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '#kit/runs.js'
import { sorted, TimeSlice } from '#plugins/registry/time-slice.js'

test('very many items are sorted as Array.prototype.toSorted does it, in slices', async () => {
  // Fewer are sorted at once.
  const items = fc.array(fc.record({ key: fc.nat(300), place: fc.nat() }), {
    minLength: 501,
    maxLength: 4_000,
    size: 'max',
  })
  const byKey = (a: { key: number }, b: { key: number }): number => a.key - b.key
  await fc.assert(
    fc.asyncProperty(items, async (given) => {
      assert.deepEqual(await sorted(given, byKey, new TimeSlice(undefined, 0)), given.toSorted(byKey))
    }),
    // To make a counterexample of thousands of items smaller takes very long.
    { numRuns: runs(30), endOnFailure: true },
  )
})
