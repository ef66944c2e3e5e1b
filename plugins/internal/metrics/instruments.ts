import { Counter, Gauge, Histogram, type OpenMetricsContentType, type Registry } from 'prom-client'
import type { Instrument, Labels, Telemetry } from 'sallyport'
import { PendingCounts } from './pending-counts.js'

/** The text format of Prometheus, and OpenMetrics. */
export type Registries = readonly [Registry, Registry<OpenMetricsContentType>]

type Record = (value: number, labels: Labels, traceId?: string) => void

/** Every instrument that was measured, in both registries. It is made with its first measurement. */
export class Instruments implements Telemetry {
  private readonly made = new Map<string, Record>()

  constructor(private readonly registries: Registries) {}

  measure(instrument: Instrument, value: number, labels: Labels, traceId?: string): void {
    let record = this.made.get(instrument.name)
    if (record === undefined) {
      record = MAKE[instrument.kind](instrument, this.registries)
      this.made.set(instrument.name, record)
    }
    record(value, labels, traceId)
  }
}

const MAKE = { counter: makeCounter, gauge: makeGauge, histogram: makeHistogram }

function makeCounter({ name, help, labels }: Instrument, registries: Registries): Record {
  const pendingCounts = new PendingCounts(labels)
  const collect = (): void => pendingCounts.flush((values, count) => add(values, count))
  // The library renames the counters of an OpenMetrics registry, so each registry has its own.
  const counters = registries.map(
    (registry) => new Counter({ name, help, labelNames: [...labels], registers: [registry], collect }),
  )
  const add = (values: Labels, count: number): void => {
    for (const counter of counters) counter.inc(values, count)
  }
  return (value, values) => {
    if (!(value >= 0 && value < Number.POSITIVE_INFINITY))
      throw new RangeError(`${name} cannot count ${value}`)
    const count = pendingCounts.find(values)
    if (count !== undefined) count.pending += value
    else {
      // prom-client refuses labels that it does not have.
      add(values, value)
      pendingCounts.add(values)
    }
  }
}

function makeGauge({ name, help, labels }: Instrument, registries: Registries): Record {
  const gauge = new Gauge({ name, help, labelNames: [...labels], registers: [...registries] })
  return (value, values) => gauge.set(values, value)
}

function makeHistogram({ name, help, labels }: Instrument, [text, openMetrics]: Registries): Record {
  const settings = { name, help, labelNames: [...labels], registers: [openMetrics] }
  const histogram = new Histogram({ ...settings, buckets: BUCKETS, enableExemplars: true })
  // The library makes none with exemplars in a registry that leaves them out.
  text.registerMetric(histogram)
  return (value, values, traceId) =>
    histogram.observe({
      labels: values,
      value,
      exemplarLabels: traceId === undefined ? NO_EXEMPLAR : { trace_id: traceId },
    })
}

// Seconds: from a cached token on the same machine to a tool call for which a client waits longer than it does by default.
const BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 60, 300]

const NO_EXEMPLAR = {}
