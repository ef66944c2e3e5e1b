import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { RateLimiterRes } from 'rate-limiter-flexible'
import { HOUR, twoClocks } from '#kit/two-clocks.js'
import { MemorySpan } from '#plugins/limit/requests/memory-span.js'

const spanOf = (t: TestContext, most?: number): MemorySpan => {
  const span = new MemorySpan({ points: 2, duration: 60, keyPrefix: 'test' }, most)
  t.after(() => span.close())
  return span
}

const isOver = (span: MemorySpan, key: string): Promise<boolean> =>
  span.consume(key, 1).then(
    () => false,
    (refused: unknown) => refused instanceof RateLimiterRes,
  )

test('any two keys have separate counts', async (t) => {
  const span = spanOf(t)
  const keys = fc.uniqueArray(
    fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('__proto__', '', 'constructor')),
    {
      minLength: 1,
    },
  )
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(keys, async (all) => {
      for (const key of all.filter((each) => !seen.has(each))) {
        seen.add(key)
        assert.deepEqual(
          [await isOver(span, key), await isOver(span, key), await isOver(span, key)],
          [...[false, false], true],
        )
      }
    }),
  )
})

test('a flood of keys evicts the oldest keys and not the newest', async (t) => {
  const span = spanOf(t, 100)
  for (const key of ['first', 'first', 'first']) await isOver(span, key)
  for (let index = 0; index < 95; index++) await isOver(span, `other ${index}`)
  for (const key of ['last', 'last', 'last']) await isOver(span, key)
  assert.equal(await isOver(span, 'first'), true)

  for (let index = 0; index < 10; index++) await isOver(span, `another ${index}`)

  assert.equal(await isOver(span, 'last'), true)
  assert.equal(await isOver(span, 'first'), false)
})

test('a key whose span began anew is evicted last, although the clock went back an hour', async (t) => {
  const clock = twoClocks(t)
  const span = spanOf(t, 100)
  await isOver(span, 'first')
  for (let index = 0; index < 99; index++) await isOver(span, `other ${index}`)
  clock.set(-HOUR)
  clock.passed(60_001)
  await isOver(span, 'first')
  await isOver(span, 'one more')
  assert.equal(await isOver(span, 'first'), true)
})

test('a flood of addresses evicts no caller', async (t) => {
  const span = spanOf(t, 100)
  const callers = ['["corp","alice"]', '#digest of a long one']
  for (const caller of callers) for (let count = 0; count < 3; count++) await isOver(span, caller)
  for (let index = 0; index < 300; index++) await isOver(span, `address ${index}`)
  for (const caller of callers) assert.equal(await isOver(span, caller), true, caller)
})

test('a refunded charge does not count, and a close clears all counts', async (t) => {
  const span = spanOf(t)
  assert.deepEqual([await isOver(span, 'a'), await isOver(span, 'a')], [false, false])
  await span.reward('a', 1)
  assert.deepEqual([await isOver(span, 'a'), await isOver(span, 'a')], [false, true])

  span.close()

  assert.equal(await isOver(span, 'a'), false)
})
