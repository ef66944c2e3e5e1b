import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EventStreamParser } from '#core/mcp/event-stream.js'
import { TOO_LONG } from '#core/toolkit/line-splitter.js'
import { runs } from '#kit/runs.js'

const read = (parser: EventStreamParser, pieces: readonly string[]) =>
  pieces
    .flatMap((piece) => [...parser.parse(Buffer.from(piece, 'latin1'))])
    .map((event) => (event === TOO_LONG ? 'too long' : `${event.name}: ${event.data}`))

const unit = fc.constantFrom('data', ':', ' ', 'a', '\n', '\r', '\r\n', 'event', 'id', '\u00ef\u00bb\u00bf')
const anyStream = fc.string({ unit, maxLength: 30 })

test('events have a name and the lines of their data, and comments are left out', () => {
  const parser = new EventStreamParser(100)
  const stream =
    '\u00ef\u00bb\u00bfdata: a\r\ndata:b\r\rid: 7\nretry: 250\nevent: x\ndata:  c\nother: d\n\n: e\n\ndata: unfinished\n'
  assert.deepEqual(read(parser, [stream]), ['message: a b', 'x:  c'])
  assert.equal(parser.id, '7')
  assert.equal(parser.retry, 250)
})

test('an event that is too long is reported, and the next one is read', () => {
  const long = `data: ${'a'.repeat(3_000)}\n\n`
  const stream = `data: aaaaaaaaaa\n\n${long}data: aaa\ndata: aaa\ndata: aaa\n\n${long}${long}data: b\n\n`
  for (const pieces of [[stream], stream.split('')]) {
    const parser = new EventStreamParser(9)
    assert.deepEqual(read(parser, pieces), [...Array(5).fill('too long'), 'message: b'])
  }
})

test('events are the same however their bytes arrive', () => {
  fc.assert(
    fc.property(anyStream, (stream) => {
      const whole = read(new EventStreamParser(12), [stream])
      assert.deepEqual(read(new EventStreamParser(12), stream.split('')), whole)
    }),
    { numRuns: runs(2_000) },
  )
})

test('a resumed stream is read like a first one, wherever the one before broke off', () => {
  fc.assert(
    fc.property(anyStream, anyStream, (broken, resumed) => {
      const parser = new EventStreamParser(12)
      read(parser, [broken])
      const { id } = parser
      parser.restart()
      assert.equal(parser.id, id)
      const fresh = new EventStreamParser(12)
      assert.deepEqual(read(parser, [resumed]), read(fresh, [resumed]))
      assert.equal(parser.id, fresh.id ?? id)
    }),
    { numRuns: runs(2_000) },
  )
})
