import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Histogram } from '#cli/commands/tail/histogram.js'

const durations = fc.array(fc.double({ min: 0.01, max: 1e9, noNaN: true }), { minLength: 1 })

test('a percentile is right within a fortieth, also of two histograms as one', () => {
  fc.assert(
    fc.property(durations, durations, fc.constantFrom(0.5, 0.95, 1), (some, others, part) => {
      const [histogram, further] = [new Histogram(), new Histogram()]
      for (const duration of some) histogram.add(duration)
      for (const duration of others) further.add(duration)
      histogram.addAll(further)

      const sorted = [...some, ...others].toSorted((a, b) => a - b)
      const exact = sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN
      const found = histogram.percentile(part) ?? Number.NaN
      assert.ok(Math.abs(found - exact) <= exact * 0.026, `${found} of ${exact}`)
      assert.equal(histogram.max, sorted.at(-1))
    }),
  )
})

test('no duration is too small or too large, and none has no percentile', () => {
  const histogram = new Histogram()
  assert.equal(histogram.percentile(0.5), undefined)
  for (const duration of [0, -5, Number.MAX_VALUE]) histogram.add(duration)
  assert.equal(histogram.percentile(0.5), 0.01 / 1.05 ** 0.5)
})
