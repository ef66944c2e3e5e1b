import type { Labels } from './capabilities/telemetry.js'

/**
 * Adds to a counter, sets a gauge, or observes a value. Without an observer in the list it costs nothing. `traceId` is
 * that of a sampled trace, for an exemplar.
 */
export type Measure = (value: number, labels?: Labels, traceId?: string) => void

/** Makes instruments. `sallyport_` is put before their names. */
export interface Meter {
  counter(name: string, help: string, labels?: readonly string[]): Measure
  gauge(name: string, help: string, labels?: readonly string[]): Measure
  histogram(name: string, help: string, labels?: readonly string[]): Measure
}
