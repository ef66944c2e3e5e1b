import { Counter, Gauge, Histogram, type OpenMetricsContentType, type Registry } from 'prom-client'
import type { Instrument, Labels, Telemetry } from 'sallyport'
import { PendingCounts } from './pending-counts.js'

/** The text format of Prometheus, and OpenMetrics. */
export type Registries = readonly [Registry, Registry<OpenMetricsContentType>]

type Recorder = (value: number, labels: Labels, traceId?: string) => void

/** Every instrument that was measured, in both registries. The first measurement creates it. */
export class Instruments implements Telemetry {
  private readonly recorders = new Map<string, Recorder>()

  constructor(private readonly registries: Registries) {}

  measure(instrument: Instrument, value: number, labels: Labels, traceId?: string): void {
    let record = this.recorders.get(instrument.name)
    if (record === undefined) {
      record = MAKE[instrument.kind](instrument, this.registries)
      this.recorders.set(instrument.name, record)
    }
    record(value, labels, traceId)
  }
}

const MAKE = { counter: makeCounter, gauge: makeGauge, histogram: makeHistogram }

function makeCounter({ name, help, labels }: Instrument, registries: Registries): Recorder {
  const pendingCounts = new PendingCounts(labels)
  const collect = (): void => pendingCounts.flush((values, count) => add(values, count))
  // prom-client renames the counters of an OpenMetrics registry, so each registry has its own.
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
      // First, since prom-client throws for labels that the counter does not have.
      add(values, value)
      pendingCounts.add(values)
    }
  }
}

function makeGauge({ name, help, labels }: Instrument, registries: Registries): Recorder {
  const gauge = new Gauge({ name, help, labelNames: [...labels], registers: [...registries] })
  return (value, values) => gauge.set(values, value)
}

function makeHistogram({ name, help, labels }: Instrument, [text, openMetrics]: Registries): Recorder {
  const settings = { name, help, labelNames: [...labels], registers: [openMetrics] }
  const histogram = new Histogram({ ...settings, buckets: BUCKETS, enableExemplars: true })
  // prom-client creates no histogram with exemplars in a registry of the text format.
  text.registerMetric(histogram)
  return (value, values, traceId) =>
    histogram.observe({
      labels: values,
      value,
      exemplarLabels: traceId === undefined ? NO_EXEMPLAR : { trace_id: traceId },
    })
}

// Seconds: from a cached token on the same machine to a tool call that takes longer than a client's default timeout.
const BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 60, 300]

const NO_EXEMPLAR = {}
