import type { TestContext } from 'node:test'
import { definePlugin, type Entry, Tunnel } from 'sallyport'
import { recordedLog, serving } from '#kit/booted.js'

/** A provider as `tunnel/connection` finds it, and what it has written into the log. */
export async function asked(t: TestContext, entry: Entry, secret = 'nothing') {
  const found: Tunnel[] = []
  const { log, lines } = recordedLog()
  const asking = definePlugin({
    name: 'asking',
    api: 1,
    requires: [Tunnel],
    setup(gateway) {
      const tunnel = gateway.use(Tunnel)
      gateway.scrubber.add(secret)
      gateway.onStart(() => void found.push(tunnel()))
    },
  })
  await serving(t, [entry, { use: asking }], { log })
  const [tunnel] = found
  if (tunnel === undefined) throw new Error('there is no tunnel')
  return {
    tunnel,
    printed: (): string[] => lines.flatMap(({ line }) => (typeof line === 'string' ? [line] : [])),
  }
}
