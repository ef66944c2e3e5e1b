import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LineQueue } from '#plugins/audit/line-queue.js'

test('a queue behaves like a list with a limit, in any order of calls', () => {
  const step = fc.oneof(
    fc.record({
      is: fc.constant('add' as const),
      line: fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 9 }),
      request: fc.constantFrom('1', '2', '3'),
    }),
    fc.record({
      is: fc.constant('take' as const),
      count: fc.nat(6),
      bytes: fc.nat(20),
      part: fc.nat(6),
    }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const queue = new LineQueue(40)
      let model: string[] = []
      const size = (lines = model): number => lines.join('').length
      for (const each of steps) {
        if (each.is === 'add') {
          const fits = size() + size([each.line]) <= 40
          assert.equal(queue.add(each.line, each.request), fits)
          if (fits) model.push(each.line)
        } else {
          const { bytes, lengths } = queue.peek(each.count, each.bytes)
          const peeked = model.slice(0, lengths.length)
          assert.equal(bytes.toString(), peeked.join(''))
          assert.deepEqual(
            lengths,
            peeked.map((line) => size([line])),
          )
          assert.ok(peeked.length <= each.count)
          if (each.count > 0 && model.length > 0) assert.ok(peeked.length > 0)
          if (peeked.length > 1) assert.ok(size(peeked) <= each.bytes)
          const part = Math.min(each.part, peeked.length)
          queue.remove(part)
          model = model.slice(part)
        }
        assert.equal(queue.length, model.length)
        assert.equal(queue.size, size())
      }
    }),
  )
})

test('lines keep their bytes while the buffer grows, is reused and is released', () => {
  const step = fc.oneof(
    fc.record({ is: fc.constant('add' as const), length: fc.integer({ min: 1, max: 600_000 }) }),
    fc.record({ is: fc.constant('take' as const), count: fc.integer({ min: 1, max: 12 }) }),
  )
  fc.assert(
    fc.property(fc.array(step, { minLength: 10, maxLength: 60 }), (steps) => {
      const queue = new LineQueue(6_000_000)
      let model: string[] = []
      for (const [number, each] of steps.entries()) {
        if (each.is === 'add') {
          const line = `${number},`.padEnd(each.length, String(number % 10))
          if (queue.add(line, `${number}`)) model.push(line)
        } else {
          const { bytes, lengths } = queue.peek(each.count, Number.POSITIVE_INFINITY)
          assert.ok(bytes.equals(Buffer.from(model.slice(0, each.count).join(''))))
          queue.remove(lengths.length)
          model = model.slice(lengths.length)
        }
      }
      assert.ok(queue.peek(100, Number.POSITIVE_INFINITY).bytes.equals(Buffer.from(model.join(''))))
    }),
  )
})

test('one request with very many lines leaves half of the queue to others', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 60 }), (counts) => {
      const queue = new LineQueue(200)
      for (const [request, count] of counts.entries()) {
        const taken = Array.from({ length: count }, () => queue.add('x', `${request}`)).lastIndexOf(true) + 1
        assert.ok(taken <= 16 || queue.size <= 100, 'no more than the first of them, once half is full')
      }
      const before = queue.size
      assert.equal(queue.add('x', 'other'), before < 200)
    }),
  )
  const queue = new LineQueue(200)
  for (let line = 0; line < 1_000; line++) queue.add('x', 'flood')
  assert.equal(queue.size, 100)
  for (let line = 0; line < 100; line++) assert.ok(queue.add('x', `${line}`))
})
