import { many } from '../capability.js'

/** What is measured: its name, its sentence, and the labels it carries. */
export interface Instrument {
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
}

export type Labels = Readonly<Record<string, string>>

/** Receives measurements. Label values come from a small set: routes, statuses, cause classes; never a path or a name from outside. */
export interface Telemetry {
  measure(instrument: Instrument, value: number, labels: Labels): void
}

export const Telemetry = many<Telemetry>('telemetry', { shared: true })
