import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExpiringMap } from 'sallyport/toolkit'

const LATER = Date.now() + 3_600_000
const ROUNDS = 50_000

function microseconds(capacity: number): number {
  const map = new ExpiringMap<number>(capacity)
  for (let key = 0; key < ROUNDS; key++) map.set(`before ${key}`, key, LATER)
  const begun = performance.now()
  for (let key = 0; key < ROUNDS; key++) map.set(`key ${key}`, key, LATER)
  return ((performance.now() - begun) / ROUNDS) * 1000
}

test('adding a new value to a full map costs about the same as to a map with room', (t) => {
  const [room, full] = [microseconds(ROUNDS * 2), microseconds(5_000)]
  t.diagnostic(`${room.toFixed(2)} µs with room, ${full.toFixed(2)} µs in a full map`)
  // Where one at a time is evicted: three times as much, and 4 µs.
  assert.ok(full < room * 2, `${full} µs against ${room} µs`)
})
