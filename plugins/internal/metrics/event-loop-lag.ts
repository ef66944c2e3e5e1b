import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Gauge } from 'prom-client'

// Milliseconds between samples: a hundred a second take 3 ms of processor time.
const SAMPLING_INTERVAL = 10
/** Milliseconds without a measurement after which nothing is sampled: most scrapers come sooner. */
const IDLE = 60_000

type Delay = ReturnType<typeof monitorEventLoopDelay>

/** In nanoseconds. */
const VALUES: Readonly<Record<string, (delay: Delay) => number>> = {
  min: ({ min }) => min,
  max: ({ max }) => max,
  mean: ({ mean }) => mean,
  stddev: ({ stddev }) => stddev,
  p50: (delay) => delay.percentile(50),
  p90: (delay) => delay.percentile(90),
  p99: (delay) => delay.percentile(99),
}

/** The delay of the event loop since the last scrape, by the names of prom-client, which would sample it for ever. */
export class EventLoopLag {
  private readonly delay = monitorEventLoopDelay({ resolution: SAMPLING_INTERVAL })
  private idle: NodeJS.Timeout | undefined
  readonly metrics: readonly Gauge[]

  constructor() {
    // The first one is collected first, and all are of the same samples.
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

  /** Something happens: there may be delays. */
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
    // Without a sample the smallest is the largest number that there is.
    const isEmpty = this.delay.count === 0
    for (const [index, read] of Object.values(VALUES).entries())
      this.metrics[index]?.set(isEmpty ? 0 : read(this.delay) / 1e9)
    this.delay.reset()
  }
}
