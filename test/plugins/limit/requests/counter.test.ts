import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Counter, countAll } from '#plugins/limit/requests/counter.js'
import { MemorySpan } from '#plugins/limit/requests/memory-span.js'
import type { Limit } from '#plugins/limit/requests/options.js'

function counting(t: TestContext, limit: Limit): Counter {
  return new Counter(limit, (options) => {
    const span = new MemorySpan(options)
    t.after(() => span.close())
    return span
  })
}

test('a refund after the end of a span makes no room in the next span', async (t) => {
  const counter = counting(t, { by: 'caller', rate: { count: 1, seconds: 60 } })
  const charge = { index: 0, name: 'alice', cost: 1, before: 0 }
  await counter.refund(charge)

  assert.equal((await counter.count(charge)).wait, 0)
  assert.ok((await counter.count(charge)).wait > 0)
})

test('any two limits of a list count in one Redis under different names', () => {
  const prefixes: string[] = []
  const rate = { count: 1, seconds: 60 }
  for (const limit of [
    { by: 'caller', rate },
    { by: 'address', rate, burst: 1 },
    { by: 'caller', rate: { count: 1, seconds: 600 } },
    { by: 'tool', rate, burst: 1 },
    { by: 'tool', rate, tools: ['a'] },
    { by: 'tool', rate, tools: ['a', 'b'], burst: 1 },
  ] satisfies Limit[])
    new Counter(limit, (options) => {
      prefixes.push(options.keyPrefix)
      return new MemorySpan(options)
    })

  assert.equal(prefixes.length, 9)
  assert.deepEqual(prefixes, [...new Set(prefixes)])
})

test('a batch may use the whole burst, and no more', async (t) => {
  const counter = counting(t, { by: 'caller', rate: { count: 1, seconds: 60 }, burst: 3 })
  const take = async (cost: number, before: number) =>
    (await counter.count({ index: 0, name: 'alice', cost, before })).wait

  assert.equal(await take(1, 0), 0)
  assert.equal(await take(4, 1), Number.POSITIVE_INFINITY)
  assert.equal(await take(3, 1), 0)
  assert.ok((await take(1, 0)) > 0)
})

test('a batch that is too large leaves the rest of the span to a smaller one', async (t) => {
  const counter = counting(t, { by: 'tool', rate: { count: 3, seconds: 60 } })
  const take = (cost: number) => countAll([counter], [{ index: 0, name: '["a"]', cost, before: 0 }], [])

  assert.equal(await take(2), undefined)
  assert.equal((await take(2))?.index, 0)
  assert.equal(await take(1), undefined)
})

test('a refund makes room once, and not in the burst too', async (t) => {
  const counter = counting(t, { by: 'caller', rate: { count: 2, seconds: 60 }, burst: 1 })
  const charge = { index: 0, name: 'alice', cost: 1, before: 0 }
  const take = async () => (await counter.count(charge)).wait
  assert.deepEqual([await take(), await take()], [0, 0])

  await counter.refund(charge)

  assert.deepEqual([await take(), await take()], [0, 0])
  assert.ok((await take()) > 0)
})
