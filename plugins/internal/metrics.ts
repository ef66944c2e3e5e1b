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
    // Shared, as calls that outlast a reload are counted when they end. A gauge is that of its list.
    const counted = gateway.share('counted', openInstruments)
    const gauges = openInstruments()
    const processMetrics = gateway.share('process', () => new ProcessMetrics())
    gateway.provide(Telemetry, {
      measure(instrument, ...measured) {
        const isGauge = instrument.kind === 'gauge'
        // Gauges are set by a scrape, and not by what happens.
        if (!isGauge) processMetrics.wake()
        const { instruments } = isGauge ? gauges : counted
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
      // Its types have the text form alone.
      const registry = Registry.merge([counted[form], gauges[form]] as Registry[])
      if (options.process) processMetrics.addTo(registry)
      // For one who adds up those of several processes.
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

/** Whether a scraper takes OpenMetrics 1.0.0, and likes the text format no better. */
export function prefersOpenMetrics(accept = ''): boolean {
  const ranges = accept.split(',').map(readRange)
  const best = (type: RegExp): number =>
    Math.max(0, ...ranges.filter((range) => type.test(range.type)).map(({ weight }) => weight))
  const wanted = best(OPEN_METRICS)
  return wanted > 0 && wanted >= best(TEXT)
}

/** A media range and its weight (RFC 9110, section 12.5.1): none for another version of OpenMetrics. */
function readRange(range: string): { readonly type: string; readonly weight: number } {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  const value = (name: string): string | undefined =>
    parameters.find((parameter) => parameter.startsWith(`${name}=`))?.slice(name.length + 1)
  const isOther = OPEN_METRICS.test(type) && (value('version') ?? VERSION) !== VERSION
  return { type, weight: isOther ? 0 : Number(value('q') ?? 1) }
}

const VERSION = '1.0.0'

/** The library writes bounds without a fraction as integers, and quotes in a help text as they are: both are not allowed. */
export const strictOpenMetrics = (text: string): string =>
  text
    .replace(/^(\w+_bucket\{le="\d+)"/gm, '$1.0"')
    .replace(/^# HELP .*$/gm, (line) => line.replaceAll('"', '\\"'))

// Milliseconds: as long as a timer can wait, since the library would never stop to sample.
const NEVER = 2 ** 31 - 1
// Their samples are here, and `_total` is for counters (`promtool check metrics`).
const LEFT_OUT = /^nodejs_(?:eventloop_lag_.+_seconds|active_\w+_total)$/

/** What is measured of the process. It outlives a reload: the library never ends what it has begun to watch. */
export class ProcessMetrics {
  private readonly watched = new Map<string, readonly Metric[]>()
  private lag: EventLoopLag | undefined

  /** Begins with the first scrape: without one, nobody reads the event loop's delay. */
  addTo(registry: Registries[number]): void {
    const { contentType } = registry
    this.lag ??= new EventLoopLag()
    // The library renames the counters of an OpenMetrics registry, so each form has its own.
    const watching = this.watched.get(contentType) ?? watchProcess()
    this.watched.set(contentType, watching)
    for (const metric of [...watching, ...this.lag.metrics]) registry.registerMetric(metric)
  }

  /** Something was measured. */
  wake(): void {
    this.lag?.wake()
  }
}

function watchProcess(): readonly Metric[] {
  const register = new Registry()
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: NEVER })
  return register
    .getMetricsAsArray()
    .filter(({ name }) => !LEFT_OUT.test(name))
    .flatMap(({ name }) => register.getSingleMetric(name) ?? [])
}
