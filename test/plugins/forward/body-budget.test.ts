import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { BodyBudget, KeptBytes } from '#plugins/forward/body-budget.js'

const KIB = 1024

/** A body of a caller, which records when it was evicted. */
function bodyOf(budget: BodyBudget, caller: string | undefined) {
  const holder = {
    wasEvicted: false,
    evict() {
      holder.wasEvicted = true
      kept.free()
    },
  }
  const kept = new KeptBytes(budget, caller, holder)
  const arrive = (bytes: number): boolean => {
    const fits = kept.demand(bytes)
    if (fits) kept.arrived()
    return fits
  }
  return { kept, holder, arrive }
}

function clock(t: TestContext) {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  return (milliseconds: number) => {
    now += milliseconds
  }
}

test('a caller keeps an eighth at most, in any number of bodies, and others have the rest', () => {
  const budget = new BodyBudget(800 * KIB)
  const mine = Array.from({ length: 10 }, () => bodyOf(budget, 'one').arrive(10 * KIB))
  assert.deepEqual(mine, Array(10).fill(true))
  assert.equal(bodyOf(budget, 'one').arrive(1), false)
  assert.equal(bodyOf(budget, 'other').arrive(50 * KIB), true)
})

test('requests that plugins dispatch have no share, since they have no caller', () => {
  const budget = new BodyBudget(80 * KIB)
  assert.equal(bodyOf(budget, undefined).arrive(60 * KIB), true)
})

test('when the budget is full, the body that has stalled for longest ends, from one second on', (t) => {
  const pass = clock(t)
  const budget = new BodyBudget(80 * KIB)
  const bodies = Array.from({ length: 8 }, (_, index) => bodyOf(budget, `caller ${index}`))
  for (const body of bodies) {
    assert.equal(body.arrive(9 * KIB), true)
    pass(50)
  }
  bodies[0]?.arrive(KIB)
  pass(500)
  const late = bodyOf(budget, 'late')
  assert.equal(late.arrive(10 * KIB), false)
  pass(200)

  assert.equal(late.arrive(10 * KIB), true)
  assert.deepEqual(
    bodies.map(({ holder }) => holder.wasEvicted),
    bodies.map((_, index) => index === 1),
  )
})

test('a complete body is never evicted', (t) => {
  const pass = clock(t)
  const budget = new BodyBudget(80 * KIB)
  const bodies = Array.from({ length: 8 }, (_, index) => bodyOf(budget, `caller ${index}`))
  for (const body of bodies) {
    body.arrive(10 * KIB)
    body.kept.settled()
  }
  pass(10_000)
  assert.equal(bodyOf(budget, 'late').arrive(1), false)
  assert.ok(bodies.every(({ holder }) => !holder.wasEvicted))
})

test('large bodies leave memory for ordinary calls (T16)', () => {
  const budget = new BodyBudget(8 * 1024 * KIB)
  for (let caller = 0; caller < 7; caller++) bodyOf(budget, `caller ${caller}`).arrive(1024 * KIB)
  assert.equal(bodyOf(budget, 'late').arrive(500 * KIB), false)
  assert.equal(bodyOf(budget, 'late').arrive(60 * KIB), true)
})
