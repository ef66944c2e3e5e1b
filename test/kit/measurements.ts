import { definePlugin, type Entry, Telemetry } from 'sallyport'

/** A plugin that remembers what was measured last, by instrument, and says it. */
export function measurements(): {
  readonly entry: Entry
  readonly last: (name: string) => number | undefined
} {
  const values = new Map<string, number>()
  const plugin = definePlugin({
    name: 'measurements',
    api: 1,
    provides: [Telemetry],
    setup: (gateway) =>
      gateway.provide(Telemetry, { measure: ({ name }, value) => void values.set(name, value) }),
  })
  return { entry: { use: plugin }, last: (name) => values.get(name) }
}
