import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BackgroundTask, type Entry } from 'sallyport'
import { ask } from '#kit/ask.js'
import { recordedLog, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { deferred } from '#kit/deferred.js'
import { listen, plugin, providing } from '#kit/plugin.js'
import { slowRoute } from './slow-route.js'

const open = { use: 'auth/anonymous' }

function task(over: Promise<void>, end: () => void = () => {}): Entry {
  return providing(`task-${Math.random()}`, BackgroundTask, { over, end })
}

test('the gateway ends when all background tasks of its list are over', async (t) => {
  const { promise: late, resolve: finish } = deferred()
  const running = await serving(t, [open, task(Promise.resolve()), task(late)])
  let over = false
  void running.over.then(() => {
    over = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(over, false)

  finish()
  await running.over
})

test('a background task that fails rejects `over`, and a program need not wait for `over`', async (t) => {
  let fail = (_error: Error): void => {}
  const work = new Promise<void>((_resolve, reject) => {
    fail = reject
  })
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', note)
  t.after(() => process.off('unhandledRejection', note))
  const running = await serving(t, [open, task(work)])

  fail(new Error('lost'))
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(unhandled, [])
  await assert.rejects(running.over, /lost/)
})

test('a stop ends the background tasks first', async (t) => {
  const { entry, arrival, finish } = slowRoute()
  const working = task(Promise.resolve(), () => finish('ended'))
  const running = await serving(t, [listen, entry, working])
  const call = ask(`${running.addresses.main}/slow`)
  await arrival

  await running.stop()

  assert.equal((await call).text, 'ended')
})

test('a background task that throws at its end holds up neither a reload nor a stop', async (t) => {
  const steps: string[] = []
  const stops = plugin('stops', (gateway) => gateway.onStop(() => void steps.push('stopped')))
  const throwing = task(new Promise(() => {}), () => {
    throw new Error('cannot end')
  })
  const list = [open, stops, throwing]
  const { log, lines } = recordedLog()
  const running = await serving(t, list, { log })

  await running.swap(list)
  await eventually(() => steps.length === 1)
  await running.stop()
  assert.deepEqual(steps, ['stopped', 'stopped'])
  assert.ok(lines.some(({ level, err }) => level === 'error' && JSON.stringify(err).includes('cannot end')))
})
