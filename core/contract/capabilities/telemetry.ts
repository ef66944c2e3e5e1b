import { many } from '../capability.js'

/** A metric: its name, its help text, and the names of its labels. */
export interface Instrument {
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
}

export type Labels = Readonly<Record<string, string>>

/**
 * Gets every measurement. Label values come from a small set: routes, statuses, causes; never a path or a name from
 * outside.
 */
export interface Telemetry {
  /** `traceId`, in hexadecimal, is that of the sampled trace in which the value was measured, for an exemplar. */
  measure(instrument: Instrument, value: number, labels: Labels, traceId?: string): void
}

export const Telemetry = many<Telemetry>('telemetry', { shared: true, observes: true })
