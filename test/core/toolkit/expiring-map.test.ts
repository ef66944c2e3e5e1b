import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ExpiringMap } from 'sallyport/toolkit'

const LATER = Date.now() + 3_600_000

test('a full map evicts the oldest value that was not read', () => {
  const map = new ExpiringMap<number>(3)
  for (const [key, value] of [
    ['a', 1],
    ['b', 2],
    ['c', 3],
  ] as const)
    map.set(key, value, LATER)
  assert.equal(map.get('a'), 1)
  map.set('d', 4, LATER)
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((key) => map.get(key)),
    [1, undefined, 3, 4],
  )
})

test('a value that was read once is evicted later', () => {
  const map = new ExpiringMap<string>(2)
  map.set('once', 'x', LATER)
  map.get('once')
  for (const key of ['a', 'b', 'c', 'd']) map.set(key, key, LATER)
  assert.equal(map.get('once'), undefined)
})

test('an expired value is not returned, and evicts no other value', () => {
  const map = new ExpiringMap<string>(2)
  map.set('ended', 'x', Date.now() - 1)
  map.set('alive', 'y', LATER)
  map.set('new', 'z', LATER)
  assert.deepEqual(
    ['ended', 'alive', 'new'].map((key) => map.get(key)),
    [undefined, 'y', 'z'],
  )
})

test('the capacity is never exceeded, and the latest value is always there', () => {
  const steps = fc.array(fc.record({ key: fc.nat({ max: 9 }), asks: fc.boolean() }), { maxLength: 100 })
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 5 }), (walk, room) => {
      const map = new ExpiringMap<number>(room)
      for (const { key, asks } of walk) {
        if (asks) {
          map.get(String(key))
          continue
        }
        map.set(String(key), key, LATER)
        assert.equal(map.get(String(key)), key)
        const held = Array.from({ length: 10 }, (_, each) => map.get(String(each)))
        assert.ok(held.filter((value) => value !== undefined).length <= room)
      }
    }),
  )
})
