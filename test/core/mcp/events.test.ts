import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EventSplitter, StreamEvent } from '#core/mcp/events.js'
import { runs } from '#kit/runs.js'

const unit = fc.constantFrom('data', ':', ' ', 'a', '\n', '\r', '\r\n', 'event', 'id', '\ufeff', 'é')
const anyStream = fc.string({ unit, maxLength: 40 })
const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 9 })

function partsOf(stream: Buffer, lengths: readonly number[], maxLength: number) {
  const splitter = new EventSplitter(maxLength)
  const parts = []
  for (let start = 0, turn = 0; start < stream.length; turn++) {
    const end = start + (lengths[turn % lengths.length] ?? 1)
    parts.push(...splitter.split(stream.subarray(start, end)))
    start = end
  }
  return { parts, rest: splitter.rest() }
}

test('the parts joined are the stream, and the splitter holds no more than allowed, wherever the stream is cut', () => {
  fc.assert(
    fc.property(anyStream, sizes, fc.integer({ min: 1, max: 30 }), (text, lengths, maxLength) => {
      const stream = Buffer.from(text)
      const { parts, rest } = partsOf(stream, lengths, maxLength)
      assert.deepEqual(Buffer.concat([...parts.map(({ bytes }) => bytes), rest]), stream)
      assert.ok(rest.length <= maxLength)
    }),
    { numRuns: runs(3_000) },
  )
})

test('whole events are the same, wherever the stream is cut', () => {
  fc.assert(
    fc.property(anyStream, sizes, (text, lengths) => {
      const stream = Buffer.from(text)
      const whole = partsOf(stream, [stream.length], 12)
      const eventsOf = ({ parts }: typeof whole) =>
        parts.filter(({ isWhole }) => isWhole).map(({ bytes }) => `${bytes}`)
      assert.deepEqual(eventsOf(partsOf(stream, lengths, 12)), eventsOf(whole))
    }),
    { numRuns: runs(3_000) },
  )
})

test('each piece of an event that is too long is marked, up to its last one', () => {
  const { parts } = partsOf(Buffer.from(`data: ${'x'.repeat(20)}\n\ndata: y\n\n`), [7], 10)
  const told = parts.map(({ isWhole, isLast }) => [isWhole, isLast])
  assert.deepEqual(told, [...Array(told.length - 2).fill([false, false]), [false, true], [true, true]])
})

test('an event of more lines than any server sends is not parsed', () => {
  assert.equal(new StreamEvent(Buffer.from('data: 1\n'.repeat(100_000)), false).isTooLong, false)
  assert.equal(new StreamEvent(Buffer.from('data: 1\n'.repeat(100_001)), false).isTooLong, true)
})
