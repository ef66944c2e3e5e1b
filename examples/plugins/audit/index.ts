import { AuditSink, definePlugin } from 'sallyport'

export default definePlugin({
  name: 'my-audit',
  api: 1,
  version: '0.1.0',
  summary: 'Writes a line to the log for every request and every call of a tool that was denied or failed.',
  provides: [AuditSink],

  setup(gateway) {
    // A sink must return at once: put slow work into a queue, and empty the queue in `gateway.onStop`.
    gateway.provide(AuditSink, ({ requestId, route, mcp, outcome, causes }) => {
      if (outcome === 'denied' || outcome === 'failed')
        gateway.log.info({ request_id: requestId, route, called: mcp?.name, causes }, outcome)
    })
  },
})
