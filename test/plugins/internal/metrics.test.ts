import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { definePlugin, type Measure } from 'sallyport'
import { Sums } from '../../../plugins/internal/metrics/sums.js'
import { recordedLog, serving } from '../../kit/booted.js'

const words = fc.constantFrom('', 'a', 'b', 'c"d', 'e\\f', 'g\nh')
const steps = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.record({ x: words, y: words, by: fc.integer({ min: 0, max: 9 }) }) },
    { weight: 1, arbitrary: fc.constant('scrape' as const) },
  ),
  { maxLength: 40 },
)

test('a counter says at every scrape what was counted until then', async (t) => {
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
    { numRuns: 30 },
  )
})

test('labels that are left out are counted, and nothing is kept for them', () => {
  const sums = new Sums(['x', 'y'])
  const partial: Record<string, string>[] = [{}, { x: '1' }]
  for (const values of partial) {
    const before = JSON.stringify(sums)
    sums.keep(values)
    assert.equal(sums.find(values), undefined)
    assert.equal(JSON.stringify(sums), before)
  }
})

test('what no counter takes is left out and told, and the next scrape is whole', async (t) => {
  const { count, scrape, lines } = await counting(t)
  const labels = { x: '1', y: '2' }
  count(1, labels)
  for (const wrong of [-1, Number.NaN, Number.POSITIVE_INFINITY]) count(wrong, labels)
  for (const _ of [1, 2]) count(1, { ...labels, z: '3' })
  count(1, labels)

  assert.equal((await scrape()).get('x="1",y="2"'), 2)
  assert.equal(lines.filter(({ msg }) => String(msg).includes('could not be told')).length, 5)
})

/** A gateway with one counter, and what the counter says by its labels as they are written. */
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
