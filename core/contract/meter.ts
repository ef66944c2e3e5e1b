import type { Labels } from './capabilities/telemetry.js'

/** Adds to a counter, sets a gauge, or observes a value. Without an observer in the list it costs nothing. */
export type Measure = (value: number, labels?: Labels) => void

/** Makes instruments. `sallyport_` is put before their names. */
export interface Meter {
  counter(name: string, help: string, labels?: readonly string[]): Measure
  gauge(name: string, help: string, labels?: readonly string[]): Measure
  histogram(name: string, help: string, labels?: readonly string[]): Measure
}
