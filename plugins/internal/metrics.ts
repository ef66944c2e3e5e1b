import { setTimeout as pause } from 'node:timers/promises'
import { collectDefaultMetrics, type OpenMetricsContentType, Registry } from 'prom-client'
import { definePlugin, Health, Telemetry } from 'sallyport'
import { z } from 'zod'
import { Instruments } from './metrics/instruments.js'
import { prefersOpenMetrics, strictOpenMetrics } from './metrics/open-metrics.js'

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
    const text = new Registry()
    const openMetrics = new Registry<OpenMetricsContentType>()
    openMetrics.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
    gateway.provide(Telemetry, new Instruments([text, openMetrics]))

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

    const watched = new Map<unknown, Promise<void>>()
    gateway.internal.get('/metrics', async ({ headers }, reply) => {
      const registry = prefersOpenMetrics(headers.accept) ? openMetrics : text
      if (options.process) {
        const watching = watched.get(registry) ?? watchProcess(registry)
        watched.set(registry, watching)
        await watching
      }
      measureHealth()
      // For one who adds up those of several processes.
      if (headers.accept === 'application/json') return registry.getMetricsAsJSON()
      reply.type(registry.contentType)
      const metrics = await registry.metrics()
      return registry === openMetrics ? strictOpenMetrics(metrics) : metrics
    })
    gateway.onStop(() => {
      for (const registry of [text, openMetrics]) registry.clear()
    })
  },
})

const STATUSES = ['ok', 'degraded', 'down'] as const

// Milliseconds between samples of the event loop's delay; without a sample it reads as the largest number there is.
const SAMPLING_INTERVAL = 10

/** Begins with the first scrape: without one, nobody reads the event loop's delay. */
async function watchProcess(register: Registry | Registry<OpenMetricsContentType>): Promise<void> {
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: SAMPLING_INTERVAL })
  await pause(3 * SAMPLING_INTERVAL)
}
