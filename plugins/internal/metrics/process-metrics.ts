import { setTimeout as pause } from 'node:timers/promises'
import { collectDefaultMetrics, type Metric, Registry } from 'prom-client'
import type { Registries } from './instruments.js'

/** What is measured of the process. It outlives a reload: the library never ends what it has begun to watch. */
export class ProcessMetrics {
  private readonly watched = new Map<string, Promise<readonly Metric[]>>()

  /** Begins with the first scrape: without one, nobody reads the event loop's delay. */
  async addTo(registry: Registries[number]): Promise<void> {
    const { contentType } = registry
    // The library renames the counters of an OpenMetrics registry, so each form has its own.
    const watching = this.watched.get(contentType) ?? watchProcess()
    this.watched.set(contentType, watching)
    for (const metric of await watching) registry.registerMetric(metric)
  }
}

// Milliseconds between samples of the event loop's delay; without a sample it reads as the largest number there is.
const SAMPLING_INTERVAL = 10

async function watchProcess(): Promise<readonly Metric[]> {
  const register = new Registry()
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: SAMPLING_INTERVAL })
  await pause(3 * SAMPLING_INTERVAL)
  return register.getMetricsAsArray().flatMap(({ name }) => register.getSingleMetric(name) ?? [])
}
