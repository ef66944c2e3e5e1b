import { AccessSink, definePlugin } from 'sallyport'
import { fieldsOf, LogThrottle, routeOf } from 'sallyport/toolkit'
import { z } from 'zod'

export default definePlugin({
  name: 'log/access',
  api: 1,
  summary: 'Writes a line to the log for each request of the main port, when its response has ended.',
  provides: [AccessSink],
  options: z.strictObject({
    requests: z
      .enum(['errors', 'all'])
      .default('errors')
      .describe('`errors`: those that were answered with 4xx or 5xx; `all`: every one'),
  }),

  setup(gateway, { requests }) {
    const { log } = gateway
    const isWritten = log.isLevelEnabled('info')
    const throttle = new LogThrottle(log)
    gateway.onStop(() => throttle.flush())
    gateway.provide(AccessSink, {
      from: requests === 'all' && isWritten ? 0 : 400,
      ended(ended) {
        if (!isWritten) return
        const { request, status, refused } = ended
        if (status < 400) log.info(fieldsOf(ended), 'request')
        // A refusal's own line says why, and has the same fields.
        else if (!refused)
          throttle.write(log, 'info', 'request', { route: routeOf(request), status }, fieldsOf(ended))
      },
    })
  },
})
