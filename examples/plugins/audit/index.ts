import { AuditSink, definePlugin } from 'sallyport'

export default definePlugin({
  name: 'my-audit',
  api: 1,
  version: '0.1.0',
  summary: 'Logs every request and every call of a tool that was denied or failed.',
  provides: [AuditSink],

  setup(gateway) {
    // It must not block: put slow work into a queue, which `gateway.onStop` empties.
    gateway.provide(AuditSink, ({ requestId, route, mcp, outcome, causes }) => {
      if (outcome === 'denied' || outcome === 'failed')
        gateway.log.info({ request_id: requestId, route, called: mcp?.name, causes }, outcome)
    })
  },
})
