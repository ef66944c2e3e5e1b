import type { Instrument, Labels, Telemetry } from '../contract/capabilities/telemetry.js'
import type { Measure, Meter } from '../contract/meter.js'
import { runSafely } from '../toolkit/deadline.js'

const NO_LABELS: Labels = {}

// As OpenTelemetry's conventions for MCP call it: that of each server has this name.
const CONVENTIONAL: ReadonlySet<string> = new Set(['mcp_server_operation_duration_seconds'])

/** One meter for a boot. The observers are looked up at each measurement: during setup they are not all there. */
export function createMeter(observers: () => readonly Telemetry[], failed: (error: unknown) => void): Meter {
  const make =
    (kind: Instrument['kind']) =>
    (name: string, help: string, labels: readonly string[] = []): Measure => {
      const own = CONVENTIONAL.has(name) ? name : `sallyport_${name}`
      const instrument: Instrument = { kind, name: own, help, labels }
      return (value, values = NO_LABELS, traceId) => {
        for (const observer of observers())
          runSafely(() => observer.measure(instrument, value, values, traceId), failed)
      }
    }
  return { counter: make('counter'), gauge: make('gauge'), histogram: make('histogram') }
}
