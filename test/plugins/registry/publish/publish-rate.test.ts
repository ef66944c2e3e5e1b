import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from 'sallyport'
import { PublishRate, publishRate } from '#plugins/registry/publish/publish-rate.js'

test('each caller has a count of its own, which begins anew after its span', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  const rate = new PublishRate(publishRate.parse('2/1m'), 'TOO_MANY', 'too often')
  const take = (caller: string) => rate.take(caller)

  take('ann')
  take('ann')
  t.mock.timers.tick(30_500)
  assert.throws(
    () => take('ann'),
    (error) =>
      error instanceof Refusal &&
      error.code === 'TOO_MANY' &&
      error.statusCode === 429 &&
      error.retryAfter === 30,
  )
  take('bob')
  t.mock.timers.tick(29_500)
  take('ann')
})
