import { definePlugin, type Instrument, Telemetry } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'internal/metrics',
  api: 1,
  summary: 'Serves `/metrics` on the internal port, in the text form that Prometheus reads.',
  provides: [Telemetry],
  options: z.strictObject({
    process: z.boolean().default(true).describe('also tell memory, CPU, event loop and open handles'),
  }),

  async setup(gateway, options) {
    const { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } = await import('prom-client')
    const registry = new Registry()
    const record = new Map<string, (value: number, labels: Readonly<Record<string, string>>) => void>()

    const open = ({ kind, name, help, labels }: Instrument) => {
      const settings = { name, help, labelNames: [...labels], registers: [registry] }
      if (kind === 'counter') {
        const counter = new Counter(settings)
        return (value: number, values: Readonly<Record<string, string>>) => counter.inc(values, value)
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
        let measure = record.get(instrument.name)
        if (measure === undefined) {
          measure = open(instrument)
          record.set(instrument.name, measure)
        }
        measure(value, labels)
      },
    })
    if (options.process) collectDefaultMetrics({ register: registry })
    gateway.internal.get('/metrics', async (_request, reply) => {
      reply.type(registry.contentType)
      return registry.metrics()
    })
    gateway.onStop(() => registry.clear())
  },
})

// From a remembered token on the same machine to a slow tool call.
const BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30]
