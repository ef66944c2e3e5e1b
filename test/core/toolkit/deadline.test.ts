import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPromise, waitAtMost, within } from 'sallyport/toolkit'
import { runSafely } from '#core/toolkit/deadline.js'

const late = () => new Error('late')
const never = new Promise<never>(() => {})

test('a wait ends at its limit', async () => {
  assert.equal(await within(60_000, Promise.resolve(1), late), 1)
  await assert.rejects(within(60_000, Promise.reject(new Error('own')), late), /own/)
  await assert.rejects(within(1, never, late), /late/)
})

test('an abort ends the wait with its own reason, also an earlier abort', async () => {
  const reason = new Error('aborted')
  const controller = new AbortController()
  const waiting = within(60_000, never, late, controller.signal)
  controller.abort(reason)
  await assert.rejects(waiting, (error) => error === reason)
  await assert.rejects(within(60_000, never, late, controller.signal), (error) => error === reason)
})

test('a wait ends when the work succeeds or fails', { timeout: 10_000 }, async () => {
  await waitAtMost(60_000, Promise.resolve())
  await waitAtMost(60_000, Promise.reject(new Error('own')))
  await waitAtMost(1, never)
})

test('finished work leaves no timer', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  await Promise.all(Array.from({ length: 100 }, (_, value) => within(60_000, Promise.resolve(value), late)))
  assert.equal(timers(), before)
})

test('the error or rejection of an observer is reported once', async () => {
  const told: unknown[] = []
  const failed = (error: unknown) => told.push(error)
  runSafely(() => {
    throw 'thrown'
  }, failed)
  runSafely(() => Promise.reject('rejected'), failed)
  runSafely(() => 'well', failed)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(told, ['thrown', 'rejected'])
})

test('every value with a `then` method counts as a promise', () => {
  // biome-ignore lint/suspicious/noThenProperty: somebody else's promise
  const promises: unknown[] = [Promise.resolve(), { then: () => {} }]
  for (const promise of promises) assert.equal(isPromise(promise), true)
  for (const other of [undefined, null, 0, '', {}, () => {}]) assert.equal(isPromise(other), false)
})
