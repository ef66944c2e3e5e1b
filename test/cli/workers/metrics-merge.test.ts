import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { MetricsMerge } from '#cli/workers/metrics-merge.js'

/** The metrics of one process, made by the library that the real ones are made by. */
function metricsOfOne() {
  const registers = [new Registry()]
  const counter = new Counter({ name: 'asked_total', help: 'Asked', labelNames: ['by'], registers })
  const gauge = new Gauge({ name: 'held', help: 'OutgoingCredential', labelNames: ['of'], registers })
  const histogram = new Histogram({ name: 'took', help: 'Took', buckets: [1, 2], registers })
  return { counter, gauge, histogram, text: async () => (await registers[0]?.metrics()) ?? '' }
}

test('what workers counted is added up, and what they hold stays apart', async () => {
  const [one, two] = [metricsOfOne(), metricsOfOne()]
  one.counter.inc({ by: 'a "quoted" }  name' }, 2)
  two.counter.inc({ by: 'a "quoted" }  name' }, 3)
  two.counter.inc({ by: 'b' }, 0.5)
  one.gauge.set({ of: 'x' }, 7)
  two.gauge.set({ of: 'x' }, Number.NaN)
  one.histogram.observe(0.5)
  two.histogram.observe(1.5)
  two.histogram.observe(9)

  const text = new MetricsMerge().text([
    { process: 1, boot: 1, worker: 1, text: await one.text() },
    { process: 2, boot: 1, worker: 2, text: await two.text() },
    { process: 0, boot: 0, text: '# HELP up Up\n# TYPE up gauge\nup 2\n' },
  ])
  assert.deepEqual(text.trim().split('\n'), [
    '# HELP asked_total Asked',
    '# TYPE asked_total counter',
    'asked_total{by="a \\"quoted\\" }  name"} 5',
    'asked_total{by="b"} 0.5',
    '# HELP took Took',
    '# TYPE took histogram',
    'took_bucket{le="1"} 1',
    'took_bucket{le="2"} 2',
    'took_bucket{le="+Inf"} 3',
    'took_sum 11',
    'took_count 3',
    '# HELP held OutgoingCredential',
    '# TYPE held gauge',
    'held{of="x",worker="1"} 7',
    'held{of="x",worker="2"} Nan',
    '# HELP up Up',
    '# TYPE up gauge',
    'up 2',
  ])
})

test('a total never falls: not when a process ends, and not when its list is another', async () => {
  const tally = new MetricsMerge()
  const asked = async (process: number, boot: number, count: number): Promise<string | undefined> => {
    const { counter, text } = metricsOfOne()
    counter.inc({ by: 'a' }, count)
    const all = tally.text([{ process, boot, worker: 1, text: await text() }])
    return /^asked_total.* (\d+)$/m.exec(all)?.[1]
  }

  assert.equal(await asked(1, 1, 4), '4')
  assert.equal(await asked(1, 1, 4), '4')
  assert.equal(await asked(1, 2, 3), '7')
  // The last word of the list before comes after the first of the new one.
  assert.equal(await asked(1, 1, 6), '9')
  tally.forget(1)
  assert.equal(await asked(2, 1, 1), '10')
})
