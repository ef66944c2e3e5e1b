import type { Instrument, Labels, Telemetry } from '../contract/capabilities/telemetry.js'
import type { Measure, Meter } from '../contract/meter.js'
import { runSafely } from '../toolkit/deadline.js'

const NO_LABELS: Labels = {}

/** One meter for a boot. The observers are looked up at each measurement: during setup they are not all there. */
export function createMeter(observers: () => readonly Telemetry[], failed: (error: unknown) => void): Meter {
  const make =
    (kind: Instrument['kind']) =>
    (name: string, help: string, labels: readonly string[] = []): Measure => {
      const instrument: Instrument = { kind, name: `sallyport_${name}`, help, labels }
      return (value, values = NO_LABELS, traceId) => {
        for (const observer of observers())
          runSafely(() => observer.measure(instrument, value, values, traceId), failed)
      }
    }
  return { counter: make('counter'), gauge: make('gauge'), histogram: make('histogram') }
}
