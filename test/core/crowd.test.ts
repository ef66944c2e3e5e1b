import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Crowd } from 'sallyport'

test('a crowd holds whoever entered and has not left, in whatever order they come and go', () => {
  const steps = fc.array(fc.record({ who: fc.nat({ max: 20 }), comes: fc.boolean() }), { maxLength: 200 })
  fc.assert(
    fc.property(steps, (walk) => {
      const people = Array.from({ length: 21 }, (_, id) => ({ id }))
      const crowd = new Crowd<{ id: number }>()
      const inside = new Set<{ id: number }>()
      for (const { who, comes } of walk) {
        const one = people[who]
        assert.ok(one)
        if (!comes) {
          crowd.leave(one)
          inside.delete(one)
        } else if (!inside.has(one)) {
          crowd.enter(one)
          inside.add(one)
        }
        assert.equal(crowd.has(one), inside.has(one))
        assert.deepEqual(new Set(crowd.now()), inside)
        assert.equal(crowd.size, inside.size)
      }
    }),
  )
})

test('who leaves while a crowd is walked through is still met, and nobody twice', () => {
  const crowd = new Crowd<{ id: number }>()
  const people = Array.from({ length: 9 }, (_, id) => ({ id }))
  for (const one of people) crowd.enter(one)
  const met: number[] = []
  for (const one of crowd.now()) {
    met.push(one.id)
    crowd.leave(one)
  }
  assert.deepEqual(met, [0, 1, 2, 3, 4, 5, 6, 7, 8])
  assert.equal(crowd.size, 0)
})
