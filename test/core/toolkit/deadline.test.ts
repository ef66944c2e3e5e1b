import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPromise, waitAtMost, within } from 'sallyport/toolkit'
import { runSafely } from '#core/toolkit/deadline.js'

const late = () => new Error('late')
const never = new Promise<never>(() => {})

test('work is waited for until its limit, and no longer', async () => {
  assert.equal(await within(60_000, Promise.resolve(1), late), 1)
  await assert.rejects(within(60_000, Promise.reject(new Error('own')), late), /own/)
  await assert.rejects(within(1, never, late), /late/)
})

test('an abort ends the wait with its own reason, also one from before', async () => {
  const reason = new Error('aborted')
  const controller = new AbortController()
  const waiting = within(60_000, never, late, controller.signal)
  controller.abort(reason)
  await assert.rejects(waiting, (error) => error === reason)
  await assert.rejects(within(60_000, never, late, controller.signal), (error) => error === reason)
})

test('work is waited for whatever becomes of it', { timeout: 10_000 }, async () => {
  await waitAtMost(60_000, Promise.resolve())
  await waitAtMost(60_000, Promise.reject(new Error('own')))
  await waitAtMost(1, never)
})

test('no timer is left of work that is done', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  await Promise.all(Array.from({ length: 100 }, (_, value) => within(60_000, Promise.resolve(value), late)))
  assert.equal(timers(), before)
})

test('an observer may throw or reject, and that is reported once', async () => {
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

test('anything with a then method is a promise', () => {
  // biome-ignore lint/suspicious/noThenProperty: somebody else's promise
  const promises: unknown[] = [Promise.resolve(), { then: () => {} }]
  for (const promise of promises) assert.equal(isPromise(promise), true)
  for (const other of [undefined, null, 0, '', {}, () => {}]) assert.equal(isPromise(other), false)
})
