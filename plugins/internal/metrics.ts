import { createRequire } from 'node:module'
import { setTimeout as pause } from 'node:timers/promises'
import { definePlugin, type Instrument, Telemetry } from 'sallyport'
import { z } from 'zod'
import { Sums } from './metrics/sums.js'

type Prometheus = typeof import('prom-client')

// The whole of prom-client takes ten times as long as these parts of it, and every start would wait for it.
const require = createRequire(import.meta.url)
const Registry: Prometheus['Registry'] = require('prom-client/lib/registry')
const Counter: Prometheus['Counter'] = require('prom-client/lib/counter')
const Gauge: Prometheus['Gauge'] = require('prom-client/lib/gauge')
const Histogram: Prometheus['Histogram'] = require('prom-client/lib/histogram')

export default definePlugin({
  name: 'internal/metrics',
  api: 1,
  summary: 'Serves `/metrics` on the internal port, in the text form that Prometheus reads.',
  provides: [Telemetry],
  options: z.strictObject({
    process: z.boolean().default(true).describe('also tell memory, CPU, event loop and open handles'),
  }),

  setup(gateway, options) {
    const registry = new Registry()
    const record = new Map<string, (value: number, labels: Readonly<Record<string, string>>) => void>()

    const open = ({ kind, name, help, labels }: Instrument) => {
      const settings = { name, help, labelNames: [...labels], registers: [registry] }
      if (kind === 'counter') {
        const counter = new Counter({
          ...settings,
          collect: () => sums.hand((values, sum) => counter.inc(values, sum)),
        })
        const sums = new Sums(labels)
        return (value: number, values: Readonly<Record<string, string>>) => {
          if (!(value >= 0 && value < Number.POSITIVE_INFINITY))
            throw new RangeError(`${name} cannot count ${value}`)
          const sum = sums.find(values)
          if (sum !== undefined) sum.since += value
          else {
            // Labels that it does not have are refused here.
            counter.inc(values, value)
            sums.keep(values)
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
        let measure = record.get(instrument.name)
        if (measure === undefined) {
          measure = open(instrument)
          record.set(instrument.name, measure)
        }
        measure(value, labels)
      },
    })
    let watching = options.process ? undefined : Promise.resolve()
    gateway.internal.get('/metrics', async (_request, reply) => {
      watching ??= watchProcess(registry)
      await watching
      reply.type(registry.contentType)
      return registry.metrics()
    })
    gateway.onStop(() => registry.clear())
  },
})

// From a remembered token on the same machine to a slow tool call.
const BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30]

// The delay of the event loop is sampled this often, and without a sample it reads as the largest number there is.
const SAMPLING = 10

/** Begins with whoever asks first: it is most of prom-client, and nobody reads it before. */
async function watchProcess(register: InstanceType<Prometheus['Registry']>): Promise<void> {
  const collectDefaultMetrics: Prometheus['collectDefaultMetrics'] = require('prom-client/lib/defaultMetrics')
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: SAMPLING })
  await pause(3 * SAMPLING)
}
