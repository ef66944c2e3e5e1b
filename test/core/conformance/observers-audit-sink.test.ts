import { AuditSink, definePlugin } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'

const logging = definePlugin({
  name: 'logging',
  api: 1,
  provides: [AuditSink],
  setup: (gateway) => gateway.provide(AuditSink, ({ route }) => gateway.log.info({ route }, 'seen')),
})

contractSuite('a sink that logs', () => ({ list: [{ use: logging }] }))

findsFaults(AuditSink, {
  'a sink that expects a subject': {
    code: 'SINK_THROWS',
    make: () => (event: { subject: string }) => void event.subject.length,
  },
  'a sink that is asynchronous': { code: 'SINK_ANSWERS', make: () => async () => {} },
  'a sink that removes a field': {
    code: 'EVENT_CHANGED',
    make: () => (event: { requestId?: string }) => {
      delete event.requestId
    },
  },
})
