import type { Gateway } from 'sallyport'
import { plugin } from '#kit/plugin.js'

/** A plugin that records each of its steps. */
export function recording(name: string, notes: string[], more: (gateway: Gateway) => void = () => {}) {
  return plugin(name, (gateway) => {
    notes.push(`${name} setup`)
    gateway.onStart(() => void notes.push(`${name} start`))
    gateway.onReady(() => void notes.push(`${name} ready`))
    gateway.onStop(() => void notes.push(`${name} stop`))
    more(gateway)
  })
}
