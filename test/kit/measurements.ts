import { type Entry, Telemetry } from 'sallyport'
import { providing } from './plugin.js'

/** A plugin that remembers the last value of each instrument. */
export function measurements(): {
  readonly entry: Entry
  readonly last: (name: string) => number | undefined
} {
  const values = new Map<string, number>()
  const entry = providing('measurements', Telemetry, {
    measure: ({ name }, value) => void values.set(name, value),
  })
  return { entry, last: (name) => values.get(name) }
}
