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
      .describe('`errors`: requests with a 4xx or 5xx response; `all`: every request'),
  }),

  setup(gateway, { requests }) {
    const { log } = gateway
    const isLogged = log.isLevelEnabled('info')
    const throttle = new LogThrottle(log)
    gateway.onStop(() => throttle.flush())
    gateway.provide(AccessSink, {
      from: requests === 'all' && isLogged ? 0 : 400,
      ended(ended) {
        if (!isLogged) return
        const { request, status, refused } = ended
        if (status < 400) log.info(fieldsOf(ended), 'request')
        // A refused request has its own line `refused`, with the reasons and the same fields.
        else if (!refused)
          throttle.write(log, 'info', 'request', { route: routeOf(request), status }, fieldsOf(ended))
      },
    })
  },
})
