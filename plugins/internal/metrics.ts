import { collectDefaultMetrics, type Metric, type OpenMetricsContentType, Registry } from 'prom-client'
import { definePlugin, Health, Telemetry } from 'sallyport'
import { z } from 'zod'
import { EventLoopLag } from './metrics/event-loop-lag.js'
import { Instruments, type Registries } from './metrics/instruments.js'

export default definePlugin({
  name: 'internal/metrics',
  api: 1,
  summary:
    'Serves `/metrics` on the internal port, as OpenMetrics with exemplars or in the text form of Prometheus, as the scraper asks.',
  provides: [Telemetry],
  options: z.strictObject({
    process: z.boolean().default(true).describe('also report memory, CPU, event loop and open handles'),
  }),

  setup(gateway, options) {
    // Counters are shared with later lists: a call that outlasts a reload counts when it ends. Each list has its own
    // gauges.
    const counters = gateway.share('counted', openInstruments)
    const gauges = openInstruments()
    const processMetrics = gateway.share('process', () => new ProcessMetrics())
    gateway.provide(Telemetry, {
      measure(instrument, ...measured) {
        const isGauge = instrument.kind === 'gauge'
        // A scrape sets gauges, so a gauge is no sign of traffic.
        if (!isGauge) processMetrics.wake()
        const { instruments } = isGauge ? gauges : counters
        instruments.measure(instrument, ...measured)
      },
    })

    const healthChecks = gateway.use(Health)
    const health = gateway.meter.gauge('health', 'Whether a check of /readiness has this status', [
      'check',
      'status',
    ])
    const measureHealth = (): void => {
      for (const part of healthChecks()) {
        const state = part.check().status
        for (const status of STATUSES) health(Number(status === state), { check: part.name, status })
      }
    }

    gateway.internal.get('/metrics', async ({ headers }, reply) => {
      measureHealth()
      const form = prefersOpenMetrics(headers.accept) ? 'openMetrics' : 'text'
      // The types of `merge` accept only registries of the text format.
      const registry = Registry.merge([counters[form], gauges[form]] as Registry[])
      if (options.process) processMetrics.addTo(registry)
      // The parent of `--workers` adds up the metrics of its processes.
      if (headers.accept === 'application/json') return registry.getMetricsAsJSON()
      reply.type(registry.contentType)
      const metrics = await registry.metrics()
      return form === 'openMetrics' ? strictOpenMetrics(metrics) : metrics
    })
  },
})

function openInstruments() {
  const text = new Registry()
  const openMetrics = new Registry<OpenMetricsContentType>()
  openMetrics.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  return { text, openMetrics, instruments: new Instruments([text, openMetrics]) }
}

const STATUSES = ['ok', 'degraded', 'down'] as const

const OPEN_METRICS = /^application\/openmetrics-text$/
const TEXT = /^(?:text\/(?:plain|\*)|\*\/\*)$/

/** Whether a scraper accepts OpenMetrics 1.0.0, and does not prefer the text format. */
export function prefersOpenMetrics(accept = ''): boolean {
  const ranges = accept.split(',').map(readRange)
  const best = (type: RegExp): number =>
    Math.max(0, ...ranges.filter((range) => type.test(range.type)).map(({ weight }) => weight))
  const wanted = best(OPEN_METRICS)
  return wanted > 0 && wanted >= best(TEXT)
}

/** A media range and its weight (RFC 9110, section 12.5.1): 0 for another version of OpenMetrics. */
function readRange(range: string): { readonly type: string; readonly weight: number } {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  const value = (name: string): string | undefined =>
    parameters.find((parameter) => parameter.startsWith(`${name}=`))?.slice(name.length + 1)
  const isOther = OPEN_METRICS.test(type) && (value('version') ?? VERSION) !== VERSION
  return { type, weight: isOther ? 0 : Number(value('q') ?? 1) }
}

const VERSION = '1.0.0'

/** OpenMetrics wants bounds with a fraction and escaped quotes in help texts; prom-client writes neither. */
export const strictOpenMetrics = (text: string): string =>
  text
    .replace(/^(\w+_bucket\{le="\d+)"/gm, '$1.0"')
    .replace(/^# HELP .*$/gm, (line) => line.replaceAll('"', '\\"'))

// Milliseconds, the longest that a timer can wait: prom-client cannot be stopped from sampling the event loop.
const NEVER = 2 ** 31 - 1
// `EventLoopLag` measures the delays, and `_total` is for counters only (`promtool check metrics`).
const EXCLUDED = /^nodejs_(?:eventloop_lag_.+_seconds|active_\w+_total)$/

/** Metrics of the process. They outlive a reload, as prom-client never stops an observer that it has started. */
export class ProcessMetrics {
  private readonly byFormat = new Map<string, readonly Metric[]>()
  private lag: EventLoopLag | undefined

  /** The first scrape starts the measurement: without a scraper, measuring the event loop is wasted. */
  addTo(registry: Registries[number]): void {
    const { contentType } = registry
    this.lag ??= new EventLoopLag()
    // The library renames the counters of an OpenMetrics registry, so each form has its own.
    const metrics = this.byFormat.get(contentType) ?? watchProcess()
    this.byFormat.set(contentType, metrics)
    for (const metric of [...metrics, ...this.lag.metrics]) registry.registerMetric(metric)
  }

  /** The gateway has measured something: it is busy. */
  wake(): void {
    this.lag?.wake()
  }
}

function watchProcess(): readonly Metric[] {
  const register = new Registry()
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: NEVER })
  return register
    .getMetricsAsArray()
    .filter(({ name }) => !EXCLUDED.test(name))
    .flatMap(({ name }) => register.getSingleMetric(name) ?? [])
}
