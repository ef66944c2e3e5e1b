import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LineSplitter, TOO_LONG } from '#core/toolkit/line-splitter.js'

const MOST = 4

test('the chunks do not change the lines, and a line that is too long is reported, not held', () => {
  const unit = fc.constantFrom('a', 'b', '\n')
  fc.assert(
    fc.property(fc.array(fc.string({ unit, maxLength: 9 })), (pieces) => {
      const splitter = new LineSplitter(MOST)
      const found = pieces.flatMap((piece) => [...splitter.split(Buffer.from(piece))])
      found.push(...splitter.remainder())

      const lines = pieces.join('').split('\n')
      const expected = lines.at(-1) === '' ? lines.slice(0, -1) : lines
      assert.deepEqual(
        found.map((line) => (line === TOO_LONG ? line : line.toString())),
        expected.map((line) => (line.length > MOST ? TOO_LONG : line)),
      )
    }),
  )
})
