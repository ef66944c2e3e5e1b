import { definePlugin, Telemetry } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'my-telemetry',
  api: 1,
  version: '0.1.0',
  summary: 'Logs the sums of all measurements at an interval.',
  provides: [Telemetry],
  options: z.strictObject({
    every: z.number().positive().max(86_400).default(60).describe('seconds between two lines'),
  }),

  setup(gateway, { every }) {
    const sums = new Map<string, number>()
    const logSums = () => {
      if (sums.size > 0) gateway.log.info({ sums: Object.fromEntries(sums) }, 'measured')
    }
    gateway.provide(Telemetry, {
      // This runs for every request: it adds up, and a timer logs.
      measure({ kind, name }, value, labels) {
        const key = `${name} ${JSON.stringify(labels)}`
        sums.set(key, kind === 'gauge' ? value : (sums.get(key) ?? 0) + value)
      },
    })

    let timer: NodeJS.Timeout | undefined
    gateway.onStart(() => {
      timer = setInterval(logSums, every * 1000)
    })
    gateway.onStop(() => {
      clearInterval(timer)
      logSums()
    })
  },
})
