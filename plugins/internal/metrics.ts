import { setTimeout as pause } from 'node:timers/promises'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { definePlugin, type Instrument, Telemetry } from 'sallyport'
import { z } from 'zod'
import { PendingCounts } from './metrics/pending-counts.js'

export default definePlugin({
  name: 'internal/metrics',
  api: 1,
  summary: 'Serves `/metrics` on the internal port, in the text form that Prometheus reads.',
  provides: [Telemetry],
  options: z.strictObject({
    process: z.boolean().default(true).describe('also report memory, CPU, event loop and open handles'),
  }),

  setup(gateway, options) {
    const registry = new Registry()
    const instruments = new Map<string, (value: number, labels: Readonly<Record<string, string>>) => void>()

    const createInstrument = ({ kind, name, help, labels }: Instrument) => {
      const settings = { name, help, labelNames: [...labels], registers: [registry] }
      if (kind === 'counter') {
        const counter = new Counter({
          ...settings,
          collect: () => pendingCounts.flush((values, count) => counter.inc(values, count)),
        })
        const pendingCounts = new PendingCounts(labels)
        return (value: number, values: Readonly<Record<string, string>>) => {
          if (!(value >= 0 && value < Number.POSITIVE_INFINITY))
            throw new RangeError(`${name} cannot count ${value}`)
          const count = pendingCounts.find(values)
          if (count !== undefined) count.pending += value
          else {
            // prom-client refuses labels that it does not have.
            counter.inc(values, value)
            pendingCounts.add(values)
          }
        }
      }
      if (kind === 'gauge') {
        const gauge = new Gauge(settings)
        return (value: number, values: Readonly<Record<string, string>>) => gauge.set(values, value)
      }
      const histogram = new Histogram({ ...settings, buckets: BUCKETS })
      return (value: number, values: Readonly<Record<string, string>>) => histogram.observe(values, value)
    }

    gateway.provide(Telemetry, {
      measure(instrument, value, labels) {
        let measure = instruments.get(instrument.name)
        if (measure === undefined) {
          measure = createInstrument(instrument)
          instruments.set(instrument.name, measure)
        }
        measure(value, labels)
      },
    })
    let processMetrics = options.process ? undefined : Promise.resolve()
    gateway.internal.get('/metrics', async (_request, reply) => {
      processMetrics ??= watchProcess(registry)
      await processMetrics
      reply.type(registry.contentType)
      return registry.metrics()
    })
    gateway.onStop(() => registry.clear())
  },
})

// Seconds: from a cached token on the same machine to a slow tool call.
const BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30]

// Milliseconds between samples of the event loop's delay; without a sample it reads as the largest number there is.
const SAMPLING_INTERVAL = 10

/** Begins with the first scrape: without one, nobody reads the event loop's delay. */
async function watchProcess(register: Registry): Promise<void> {
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: SAMPLING_INTERVAL })
  await pause(3 * SAMPLING_INTERVAL)
}
