import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Counter } from '#plugins/limit/requests/counter.js'
import { MemorySpan } from '#plugins/limit/requests/memory-span.js'

test('what is given back after its span has ended makes no room in the next one', async (t) => {
  const counter = new Counter({ by: 'caller', rate: { count: 1, seconds: 60 } }, (options) => {
    const span = new MemorySpan(options)
    t.after(() => span.close())
    return span
  })
  const charge = { index: 0, name: 'alice', cost: 1, before: 0 }
  await counter.giveBack(charge)

  assert.equal((await counter.take(charge)).wait, 0)
  assert.ok((await counter.take(charge)).wait > 0)
})
