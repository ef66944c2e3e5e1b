import { definePlugin, Telemetry } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'my-telemetry',
  api: 1,
  version: '0.1.0',
  summary: 'Writes what was measured to the log, again and again.',
  provides: [Telemetry],
  options: z.strictObject({
    every: z.number().positive().max(86_400).default(60).describe('seconds from one time to the next'),
  }),

  setup(gateway, { every }) {
    const sums = new Map<string, number>()
    const tell = () => {
      if (sums.size > 0) gateway.log.info({ sums: Object.fromEntries(sums) }, 'measured')
    }
    gateway.provide(Telemetry, {
      // This runs for every request: it adds up, and a timer tells.
      measure({ kind, name }, value, labels) {
        const key = `${name} ${JSON.stringify(labels)}`
        sums.set(key, kind === 'gauge' ? value : (sums.get(key) ?? 0) + value)
      },
    })

    let timer: NodeJS.Timeout | undefined
    gateway.onStart(() => {
      timer = setInterval(tell, every * 1000)
    })
    gateway.onStop(() => {
      clearInterval(timer)
      tell()
    })
  },
})
