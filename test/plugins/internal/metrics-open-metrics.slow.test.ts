import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { Health, type HealthState, type Meter } from 'sallyport'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { readOpenMetrics } from '#kit/open-metrics.js'
import { plugin, providing } from '#kit/plugin.js'
import { noPrometheus, promtool, scraping } from '#kit/prometheus.js'
import { runs } from '#kit/runs.js'
import { prefersOpenMetrics } from '../../../plugins/internal/metrics.js'

// The `Accept` of Prometheus 2.42, of version 3, and of version 3 with the text format first.
const OPEN_METRICS = [
  'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
  'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1',
  'application/openmetrics-text',
  'Application/OpenMetrics-Text ; Version=1.0.0 ; Q=1',
]
const TEXT = [
  undefined,
  '',
  '*/*',
  'text/plain',
  'text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=1.0.0;q=0.4,*/*;q=0.1',
  'application/openmetrics-text;version=0.0.1,*/*;q=0.1',
  'application/openmetrics-text;version=1.0.0;q=0',
  'application/openmetrics-text;q=many',
]
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'

test('a scraper gets OpenMetrics when it accepts version 1.0.0 and does not prefer the text format', () => {
  for (const accept of OPEN_METRICS) assert.equal(prefersOpenMetrics(accept), true, accept)
  for (const accept of TEXT) assert.equal(prefersOpenMetrics(accept), false, accept)
  const words = fc.constantFrom(
    'application/openmetrics-text',
    'text/plain',
    '*/*',
    ';',
    ',',
    'q=',
    '=',
    '0.5',
    ' ',
  )
  const headers = fc.oneof(
    fc.string(),
    fc.array(words).map((parts) => parts.join('')),
  )
  fc.assert(
    fc.property(headers, (accept) => {
      const asked = prefersOpenMetrics(accept)
      if (asked) assert.match(accept, /application\/openmetrics-text/i)
    }),
  )
})

test('each bucket of a histogram has the trace of its last value as an exemplar, in OpenMetrics alone', async (t) => {
  const { meter, scrape } = await measuring(t)
  const duration = meter.histogram('tool_seconds', 'Time that a "tool" took', ['tool'])
  duration(0.02, { tool: 'a' }, 'f'.repeat(32))
  duration(0.03, { tool: 'a' }, TRACE)
  duration(0.04, { tool: 'a' })
  duration(900, { tool: 'a' }, TRACE)
  meter.counter('steps_total', 'Steps', ['x'])(2, { x: 'y' })

  const { type, text } = await scrape(OPEN_METRICS[0])
  assert.equal(type, 'application/openmetrics-text; version=1.0.0; charset=utf-8')
  const samples = readOpenMetrics(text)
  const exemplars = samples.flatMap(({ labels: { le }, exemplar }) => (exemplar ? [[le, exemplar]] : []))
  assert.deepEqual(exemplars, [
    ['0.05', { labels: { trace_id: TRACE }, value: 0.03 }],
    ['+Inf', { labels: { trace_id: TRACE }, value: 900 }],
  ])
  assert.equal(samples.find(({ name }) => name === 'sallyport_steps_total')?.value, 2)

  const plain = await scrape('text/plain')
  assert.equal(plain.type, 'text/plain; version=0.0.4; charset=utf-8')
  assert.doesNotMatch(plain.text, /trace_id|# EOF/)
  assert.match(plain.text, /^# TYPE sallyport_steps_total counter\nsallyport_steps_total\{x="y"\} 2\n$/m)
  assert.match(plain.text, /^sallyport_tool_seconds_bucket\{le="60",tool="a"\} 3$/m)
})

test('both formats hold the same values, whatever is measured, and reading one does not change the other', async (t) => {
  const words = fc.oneof(
    fc.string(),
    fc.constantFrom('a"b', 'c\\', 'd\ne', 'le="1"', '_bucket{le="5', '# EOF'),
  )
  const steps = fc.array(
    fc.record({
      kind: fc.constantFrom('counter', 'gauge', 'histogram'),
      value: fc.double({ min: 0, max: 1000, noNaN: true }),
      x: words,
      traceId: fc.option(fc.constant(TRACE), { nil: undefined }),
    }),
    { maxLength: 20 },
  )
  await fc.assert(
    fc.asyncProperty(steps, words, async (taken, help) => {
      const { meter, scrape, stop } = await measuring(t)
      const instruments = {
        counter: meter.counter('steps_total', help, ['x']),
        gauge: meter.gauge('level', help, ['x']),
        histogram: meter.histogram('step_seconds', help, ['x']),
      }
      for (const { kind, value, x, traceId } of taken) instruments[kind](value, { x }, traceId)
      const before = await scrape('text/plain')
      const samples = readOpenMetrics((await scrape(OPEN_METRICS[1])).text)
      assert.equal((await scrape('text/plain')).text, before.text)
      const lines = before.text.split('\n').filter((line) => /^[^#]/.test(line))
      assert.deepEqual(
        samples.map(({ value }) => value),
        lines.map((line) => Number(line.slice(line.lastIndexOf(' ') + 1))),
      )
      await stop()
    }),
    { numRuns: runs(30) },
  )
})

test('a scrape with the metrics of the process follows the rules of both formats', async (t) => {
  const { scrape } = await measuring(t, { process: true })
  const samples = readOpenMetrics((await scrape(OPEN_METRICS[0])).text)
  for (const name of ['process_cpu_seconds_total', 'nodejs_gc_duration_seconds_count', 'sallyport_health'])
    assert.ok(samples.some((sample) => sample.name === name) || name.includes('gc_'), name)
  const { text } = await scrape()
  assert.match(text, /^process_cpu_seconds_total /m)
  if (noPrometheus !== undefined) return
  // promtool also advises on names that prom-client chooses; its output may hold only such advice.
  const { stderr } = promtool(['check', 'metrics'], text)
  assert.deepEqual(
    stderr.split('\n').filter((line) => /sallyport_/.test(line)),
    [],
  )
  assert.doesNotMatch(stderr, /error/i)
})

test('the metrics show the status of each check of /readiness', async (t) => {
  let state: HealthState = { status: 'ok' }
  const part = providing('part', Health, { name: 'my "part"', check: () => state })
  const { scrape } = await measuring(t, { further: [part] })
  for (const status of ['ok', 'degraded', 'down', 'ok'] as const) {
    state = { status }
    const { text } = await scrape()
    const ofPart = text.matchAll(/^sallyport_health\{check="my \\"part\\"",status="(\w+)"\} (\d)$/gm)
    assert.deepEqual(Object.fromEntries([...ofPart].map(([, name, value]) => [name, value])), {
      ok: '0',
      degraded: '0',
      down: '0',
      [status]: '1',
    })
  }
})

test('Prometheus stores the exemplars and returns them', { skip: noPrometheus }, async (t) => {
  const { meter, internal } = await measuring(t)
  const { ask } = await scraping(t, [internal])
  meter.histogram('tool_seconds', 'Time that a tool took', ['tool'])(0.02, { tool: 'a' }, TRACE)
  const now = Date.now() / 1000
  const times = { start: String(now - 60), end: String(now + 60) }
  const [found] = await eventually(async () => {
    const series = await ask('query_exemplars', { query: 'sallyport_tool_seconds_bucket', ...times })
    return series.length > 0 && series
  })
  assert.equal(found.exemplars[0].labels.trace_id, TRACE)
  assert.deepEqual([found.seriesLabels.le, found.seriesLabels.tool], ['0.05', 'a'])
  const { activeTargets } = await ask('targets', {})
  assert.deepEqual([activeTargets[0].health, activeTargets[0].lastError], ['up', ''])
})

interface Wishes {
  readonly process?: boolean
  readonly further?: Parameters<typeof serving>[1]
}

/** A gateway, and its meter. */
async function measuring(t: TestContext, { process = false, further = [] }: Wishes = {}) {
  let meter: Meter | undefined
  const measures = plugin('measures', (gateway) => {
    meter = gateway.meter
  })
  const with_ = { address: '127.0.0.1:0' }
  const running = await serving(t, [
    { use: 'internal/server', with: with_ },
    { use: 'internal/metrics', with: { process } },
    measures,
    ...further,
  ])
  assert.ok(meter)
  const internal = running.addresses.internal ?? assert.fail()
  const scrape = async (accept?: string) => {
    const response = await fetch(`${internal}/metrics`, { headers: accept === undefined ? {} : { accept } })
    assert.equal(response.status, 200)
    return { type: response.headers.get('content-type'), text: await response.text() }
  }
  return { meter, scrape, internal, stop: () => running.stop(0) }
}
