import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { lineOf, parseChange } from '#plugins/store/files/journal-line.js'

const text = fc.string({ unit: 'binary', maxLength: 200 })
const state = fc.record(
  {
    status: fc.constantFrom('active' as const, 'deprecated' as const, 'deleted' as const),
    statusMessage: text,
  },
  { requiredKeys: ['status'], noNullPrototype: true },
)
const event = fc.record(
  {
    ...{ name: text, version: text, before: state, after: state },
    at: fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date(2e12) })
      .map((date) => date.toISOString()),
    action: fc.constantFrom('publish' as const, 'status' as const),
    actor: fc.record({ provider: text, subject: text }, { noNullPrototype: true }),
  },
  { requiredKeys: ['name', 'version', 'at', 'action', 'actor', 'after'], noNullPrototype: true },
)
const change = fc.record(
  { number: fc.integer({ min: 1 }), events: fc.array(event, { minLength: 1, maxLength: 3 }), server: text },
  { requiredKeys: ['number', 'events'], noNullPrototype: true },
)

test('a line gives back what was written, whatever names, messages and documents are', () => {
  fc.assert(
    fc.property(change, (written) => {
      const line = lineOf(written)
      assert.equal(line.indexOf('\n'), line.length - 1)
      assert.deepEqual(parseChange(line), written)
    }),
  )
})

test('a line of which one byte is another, or a part is missing, is not read', () => {
  fc.assert(
    fc.property(change, fc.nat(), fc.integer({ min: 1, max: 255 }), (written, at, by) => {
      const line = lineOf(written)
      const index = at % line.length
      const other = Buffer.from(line)
      other[index] = (other[index] ?? 0) ^ by
      assert.equal(parseChange(other), undefined)
      assert.equal(parseChange(line.subarray(0, index)), undefined)
    }),
  )
})
