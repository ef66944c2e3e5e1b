import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EndedBatch } from '#core/observe/ended-batch.js'

function recorded() {
  const told: number[] = []
  const batch = new EndedBatch<number>((ended) => void told.push(ended), assert.ifError)
  return { told, batch }
}

test('what ends while nothing else is under way is told at once', () => {
  const { told, batch } = recorded()
  for (const each of [1, 2, 3]) {
    batch.begun()
    batch.ended(each)
    assert.equal(told.at(-1), each)
  }
})

test('while others are under way 32 are told together, in their order', () => {
  const { told, batch } = recorded()
  for (let each = 0; each < 100; each++) batch.begun()
  for (let each = 0; each < 31; each++) batch.ended(each)
  assert.deepEqual(told, [])
  batch.ended(31)
  assert.deepEqual(told, [...Array(32).keys()])
  for (let each = 32; each < 100; each++) batch.ended(each)
  assert.deepEqual(told, [...Array(100).keys()])
})

test('nothing waits for long, though a stream is open all the time', async () => {
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

test('at the stop what waits is told, and after it all at once', () => {
  const { told, batch } = recorded()
  for (let each = 0; each < 4; each++) batch.begun()
  batch.ended(1)
  assert.deepEqual(told, [])
  batch.stop()
  assert.deepEqual(told, [1])
  batch.ended(2)
  assert.deepEqual(told, [1, 2])
})

test('one that ends while others are told is told too, once', () => {
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

test('one that cannot be told takes nothing from the others, and is reported once', () => {
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
