import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { EventLoopLag } from '#plugins/internal/metrics/event-loop-lag.js'

test('the gateway samples delays while it is busy, and stops after an idle minute', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const lag = new EventLoopLag()
  const registry = new Registry()
  for (const metric of lag.metrics) registry.registerMetric(metric)
  const cell = new Int32Array(new SharedArrayBuffer(4))
  const samples = async (): Promise<boolean> => {
    await registry.metrics()
    for (let turn = 0; turn < 4; turn++) {
      Atomics.wait(cell, 0, 0, 30)
      await new Promise(setImmediate)
    }
    return Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(await registry.metrics())?.[1]) > 0.01
  }

  assert.equal(await samples(), false)
  lag.wake()
  assert.equal(await samples(), true)
  t.mock.timers.tick(59_000)
  assert.equal(await samples(), true)
  t.mock.timers.tick(2_000)
  assert.equal(await samples(), false)
  lag.wake()
  assert.equal(await samples(), true)
})
