import { type OpenMetricsContentType, Registry } from 'prom-client'
import { definePlugin, Health, Telemetry } from 'sallyport'
import { z } from 'zod'
import { Instruments } from './metrics/instruments.js'
import { prefersOpenMetrics, strictOpenMetrics } from './metrics/open-metrics.js'
import { ProcessMetrics } from './metrics/process-metrics.js'

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
