import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { definePlugin, type Measure } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { recordedLog, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { listen } from '#kit/plugin.js'
import { runs } from '#kit/runs.js'
import { PendingCounts } from '../../../plugins/internal/metrics/pending-counts.js'
import { slowRoute } from '../../core/kernel/slow-route.js'

const words = fc.constantFrom('', 'a', 'b', 'c"d', 'e\\f', 'g\nh')

const steps = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.record({ x: words, y: words, by: fc.integer({ min: 0, max: 9 }) }) },
    { weight: 1, arbitrary: fc.constant('scrape' as const) },
  ),
  { maxLength: 40 },
)

test('every scrape has all counts so far', async (t) => {
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      const { count, scrape } = await counting(t)
      const sums = new Map<string, number>()
      for (const step of [...taken, 'scrape' as const]) {
        if (step === 'scrape') assert.deepEqual(await scrape(), sums)
        else {
          const { x, y, by } = step
          count(by, { x, y })
          const series = `x="${escaped(x)}",y="${escaped(y)}"`
          sums.set(series, (sums.get(series) ?? 0) + by)
        }
      }
    }),
    { numRuns: runs(30) },
  )
})

test('counts with missing labels are recorded but not cached', () => {
  const counts = new PendingCounts(['x', 'y'])
  const partial: Record<string, string>[] = [{}, { x: '1' }]
  for (const values of partial) {
    const before = JSON.stringify(counts)
    counts.add(values)
    assert.equal(counts.find(values), undefined)
    assert.equal(JSON.stringify(counts), before)
  }
})

test('an invalid count is left out and logged, and the next scrape is complete', async (t) => {
  const { count, scrape, lines } = await counting(t)
  const labels = { x: '1', y: '2' }
  count(1, labels)
  for (const wrong of [-1, Number.NaN, Number.POSITIVE_INFINITY]) count(wrong, labels)
  for (const _ of [1, 2]) count(1, { ...labels, z: '3' })
  count(1, labels)

  assert.equal((await scrape()).get('x="1",y="2"'), 2)
  assert.equal(lines.filter(({ msg }) => String(msg).includes('could not be recorded')).length, 5)
})

test('the metrics of the process continue after a reload, in both formats', async (t) => {
  const at = { address: '127.0.0.1:0' }
  const list = [
    { use: 'listen/http', with: at },
    { use: 'internal/server', with: at },
    { use: 'internal/metrics' },
    { use: 'auth/anonymous' },
  ]
  const running = await serving(t, list)
  const seconds = async (accept: string): Promise<number> => {
    const response = await fetch(`${running.addresses.internal}/metrics`, { headers: { accept } })
    return Number(/^process_cpu_user_seconds_total (.+)$/m.exec(await response.text())?.[1])
  }
  for (const accept of ['text/plain', 'application/openmetrics-text;version=1.0.0']) {
    await seconds(accept)
    const { user } = process.cpuUsage()
    while (process.cpuUsage().user - user < 500_000);
    const before = await seconds(accept)
    assert.ok(before >= 0.5, `${accept}: ${before}`)
    for (let reloads = 0; reloads < 2; reloads++) {
      await running.swap(list)
      const after = await seconds(accept)
      assert.ok(after >= before, `${accept}: ${after} after ${before}`)
    }
  }
})

/** A gateway with one counter, and the counter's values by their labels as text. */
async function counting(t: TestContext) {
  const { log, lines } = recordedLog()
  let count: Measure | undefined
  const counter = definePlugin({
    name: 'counter',
    api: 1,
    setup({ meter }) {
      count = meter.counter('steps_total', 'Steps', ['x', 'y'])
    },
  })
  const at = { address: '127.0.0.1:0' }
  const running = await serving(
    t,
    [
      { use: 'listen/http', with: at },
      { use: 'internal/server', with: at },
      { use: 'internal/metrics', with: { process: false } },
      { use: counter },
      { use: 'auth/anonymous' },
    ],
    { log },
  )
  const scrape = async (): Promise<Map<string, number>> => {
    const text = await (await fetch(`${running.addresses.internal}/metrics`)).text()
    const found = text.matchAll(/^sallyport_steps_total\{(.*)\} (\d+)$/gm)
    return new Map([...found].map(([, labels = '', value]) => [labels, Number(value)]))
  }
  assert.ok(count)
  return { count, scrape, lines }
}

const escaped = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')

contractSuite('internal/metrics and the health of the gateway', () => ({
  list: [{ use: 'internal/server', with: { address: '127.0.0.1:0' } }, { use: 'internal/metrics' }],
}))

test('a reload loses no count: a call that outlasts it counts when it ends', async (t) => {
  const { entry, arrival, finish } = slowRoute()
  const list = [
    listen,
    { use: 'internal/server', with: { address: '127.0.0.1:0' } },
    { use: 'internal/metrics' },
  ]
  const running = await serving(t, [...list, entry], { drainLimit: 20 })
  const { main, internal } = running.addresses
  const call = fetch(`${main}/slow`)
  await arrival
  await running.swap(list)

  finish('done')
  assert.equal(await (await call).text(), 'done')
  const counted = /^sallyport_http_requests_total\{method="GET",route="\/slow",status="200"\} 1$/m
  const scrape = async () => counted.exec(await (await fetch(`${internal}/metrics`)).text())
  await eventually(async () => (await scrape()) !== null)
  await running.swap(list)
  assert.notEqual(await scrape(), null)
})
