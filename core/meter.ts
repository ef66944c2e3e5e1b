import type { Instrument, Labels, Telemetry } from './contracts/telemetry.js'
import { harmless } from './deadline.js'

/** Adds to a counter, sets a gauge, or observes a value. Without an observer in the list it costs nothing. */
export type Measure = (value: number, labels?: Labels) => void

/** Makes instruments. Their names start with `sallyport_`, whoever asks. */
export interface Meter {
  counter(name: string, help: string, labels?: readonly string[]): Measure
  gauge(name: string, help: string, labels?: readonly string[]): Measure
  histogram(name: string, help: string, labels?: readonly string[]): Measure
}

const NO_LABELS: Labels = {}

/** One meter for a boot. The observers are asked for at the first measurement: during setup they are not all there. */
export function createMeter(observers: () => readonly Telemetry[], failed: (error: unknown) => void): Meter {
  const make =
    (kind: Instrument['kind']) =>
    (name: string, help: string, labels: readonly string[] = []): Measure => {
      const instrument: Instrument = { kind, name: `sallyport_${name}`, help, labels }
      return (value, values = NO_LABELS) => {
        for (const observer of observers())
          harmless(() => observer.measure(instrument, value, values), failed)
      }
    }
  return { counter: make('counter'), gauge: make('gauge'), histogram: make('histogram') }
}
