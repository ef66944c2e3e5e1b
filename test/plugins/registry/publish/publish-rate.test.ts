import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from 'sallyport'
import { HOUR, twoClocks } from '#kit/two-clocks.js'
import { PublishRate, publishRate } from '#plugins/registry/publish/publish-rate.js'

const rateOf = (written: string) => new PublishRate(publishRate.parse(written), 'TOO_MANY', 'too often')

const refusedFor = (seconds: number) => (error: unknown) =>
  error instanceof Refusal &&
  error.code === 'TOO_MANY' &&
  error.statusCode === 429 &&
  error.retryAfter === seconds

test('each caller has a count of its own, which recovers with time, wherever the clock is set', (t) => {
  const clock = twoClocks(t, { stopped: true })
  const rate = rateOf('2/1m')
  const take = (caller: string) => rate.take(caller)

  take('ann')
  take('ann')
  clock.set(-HOUR)
  clock.passed(10_000)
  assert.throws(() => take('ann'), refusedFor(20))
  take('bob')
  clock.passed(30_000)
  take('ann')
  assert.throws(() => take('ann'), refusedFor(30))
  clock.passed(121_000)
  take('ann')
  take('ann')
})

test('a caller waits for all writes that are counted afterwards, however many', (t) => {
  const clock = twoClocks(t, { stopped: true })
  const rate = rateOf('600/1m')

  rate.take('ann')
  rate.charge('ann', 999)
  assert.throws(() => rate.take('ann'), refusedFor(41))
  rate.take('bob')
  clock.passed(39_800)
  assert.throws(() => rate.take('ann'), refusedFor(1))
  clock.passed(40_200)
  rate.take('ann')
})
