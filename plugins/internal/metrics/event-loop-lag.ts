import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Gauge } from 'prom-client'

// Milliseconds between samples: a hundred a second take 3 ms of processor time.
const SAMPLING_INTERVAL = 10
/** Milliseconds without a measurement after which sampling stops. Most scrapers come more often. */
const IDLE = 60_000

type Delay = ReturnType<typeof monitorEventLoopDelay>

/** Each value in nanoseconds. */
const VALUES: Readonly<Record<string, (delay: Delay) => number>> = {
  min: ({ min }) => min,
  max: ({ max }) => max,
  mean: ({ mean }) => mean,
  stddev: ({ stddev }) => stddev,
  p50: (delay) => delay.percentile(50),
  p90: (delay) => delay.percentile(90),
  p99: (delay) => delay.percentile(99),
}

/** The delay of the event loop since the last scrape, under prom-client's names. prom-client would sample for ever. */
export class EventLoopLag {
  private readonly delay = monitorEventLoopDelay({ resolution: SAMPLING_INTERVAL })
  private idle: NodeJS.Timeout | undefined
  readonly metrics: readonly Gauge[]

  constructor() {
    // prom-client collects the first gauge first: it sets all of them, so that all come from the same samples.
    this.metrics = Object.keys(VALUES).map(
      (value, index) =>
        new Gauge({
          name: `nodejs_eventloop_lag_${value}_seconds`,
          help: `The ${value} of the event loop's delays since the last scrape, while anything was measured`,
          registers: [],
          ...(index === 0 && { collect: () => this.collect() }),
        }),
    )
  }

  /** The gateway is busy: samples, until it is idle for a minute. */
  wake(): void {
    if (this.idle !== undefined) {
      this.idle.refresh()
      return
    }
    this.delay.enable()
    this.idle = setTimeout(() => this.sleep(), IDLE).unref()
  }

  private sleep(): void {
    this.idle = undefined
    this.delay.disable()
  }

  private collect(): void {
    // Without a sample `min` is the largest number of the histogram.
    const isEmpty = this.delay.count === 0
    for (const [index, read] of Object.values(VALUES).entries())
      this.metrics[index]?.set(isEmpty ? 0 : read(this.delay) / 1e9)
    this.delay.reset()
  }
}
