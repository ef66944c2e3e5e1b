import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from 'sallyport'
import { HOUR, twoClocks } from '#kit/two-clocks.js'
import { PublishRate, publishRate } from '#plugins/registry/publish/publish-rate.js'

test('each caller has a count of its own, which begins anew after its span, wherever the clock is set', (t) => {
  const clock = twoClocks(t)
  const rate = new PublishRate(publishRate.parse('2/1m'), 'TOO_MANY', 'too often')
  const take = (caller: string) => rate.take(caller)

  take('ann')
  take('ann')
  clock.set(-HOUR)
  clock.passed(30_500)
  assert.throws(
    () => take('ann'),
    (error) =>
      error instanceof Refusal &&
      error.code === 'TOO_MANY' &&
      error.statusCode === 429 &&
      error.retryAfter === 30,
  )
  take('bob')
  clock.passed(60_001)
  take('ann')
})
