import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EndedBatch } from '#core/observe/ended-batch.js'

function recorded() {
  const told: number[] = []
  const batch = new EndedBatch<number>((ended) => void told.push(ended), assert.ifError)
  return { told, batch }
}

test('a request that ends while no other is in flight is reported at once', () => {
  const { told, batch } = recorded()
  for (const each of [1, 2, 3]) {
    batch.begun()
    batch.ended(each)
    assert.equal(told.at(-1), each)
  }
})

test('while others are in flight, 32 requests are reported together, in their order', () => {
  const { told, batch } = recorded()
  for (let each = 0; each < 100; each++) batch.begun()
  for (let each = 0; each < 31; each++) batch.ended(each)
  assert.deepEqual(told, [])
  batch.ended(31)
  assert.deepEqual(told, [...Array(32).keys()])
  for (let each = 32; each < 100; each++) batch.ended(each)
  assert.deepEqual(told, [...Array(100).keys()])
})

test('no request waits for long, though a stream stays open', async () => {
  const { told, batch } = recorded()
  batch.begun()
  for (const each of [1, 2]) {
    batch.begun()
    batch.ended(each)
    const began = performance.now()
    while (told.at(-1) !== each) await new Promise((resolve) => void setTimeout(resolve, 1))
    assert.ok(performance.now() - began < 2_000)
  }
})

test('at the stop waiting requests are reported, and later ones at once', () => {
  const { told, batch } = recorded()
  for (let each = 0; each < 4; each++) batch.begun()
  batch.ended(1)
  assert.deepEqual(told, [])
  batch.stop()
  assert.deepEqual(told, [1])
  batch.ended(2)
  assert.deepEqual(told, [1, 2])
})

test('a request that ends while others are reported is reported too, once', () => {
  const told: number[] = []
  const batch = new EndedBatch<number>((ended) => {
    told.push(ended)
    if (ended < 3) batch.ended(ended + 10)
  }, assert.ifError)
  for (let each = 0; each < 9; each++) batch.begun()
  for (const each of [1, 2, 3]) batch.ended(each)
  batch.flush()
  batch.flush()
  assert.deepEqual(told, [1, 2, 3, 11, 12])
})

test('a report that throws does not affect the others, and its error is reported once', () => {
  const [told, errors]: [number[], unknown[]] = [[], []]
  const fault = new Error('no')
  const batch = new EndedBatch<number>(
    (ended) => {
      if (ended === 2) throw fault
      told.push(ended)
    },
    (error) => void errors.push(error),
  )
  for (let each = 0; each < 5; each++) batch.begun()
  for (const each of [1, 2, 3]) batch.ended(each)
  batch.flush()
  assert.deepEqual(told, [1, 3])
  assert.deepEqual(errors, [fault])
  for (const each of [4, 5]) batch.ended(each)
  assert.deepEqual(told, [1, 3, 4, 5])
})
