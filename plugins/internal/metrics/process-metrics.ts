import { collectDefaultMetrics, type Metric, Registry } from 'prom-client'
import { EventLoopLag } from './event-loop-lag.js'
import type { Registries } from './instruments.js'

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
