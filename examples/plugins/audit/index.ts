import { AuditSink, definePlugin } from 'sallyport'

export default definePlugin({
  name: 'my-audit',
  api: 1,
  version: '0.1.0',
  summary: 'Writes a line to the log for every request that was refused.',
  provides: [AuditSink],

  setup(gateway) {
    // It keeps nobody waiting: what takes time goes to a queue, which `gateway.onStop` empties.
    gateway.provide(AuditSink, ({ kind, requestId, route, causes }) => {
      if (kind === 'refused') gateway.log.info({ request_id: requestId, route, causes }, 'refused')
    })
  },
})
