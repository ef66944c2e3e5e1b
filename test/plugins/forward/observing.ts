import {
  type AuditEvent,
  AuditSink,
  definePlugin,
  type Entry,
  type Labels,
  Telemetry,
  type Trace,
  Tracer,
} from 'sallyport'
import { providing } from '#kit/plugin.js'

/** An audit sink of the test, by default with a telemetry, and what both receive. */
export function observing(measures = true) {
  const events: AuditEvent[] = []
  const operations: Labels[] = []
  const use = definePlugin({
    name: 'observing',
    api: 1,
    provides: measures ? [AuditSink, Telemetry] : [AuditSink],
    setup(gateway) {
      gateway.provide(AuditSink, (event) => void events.push(event))
      if (!measures) return
      gateway.provide(Telemetry, {
        measure({ name }, _value, labels) {
          if (name.endsWith('mcp_server_operation_duration_seconds')) operations.push(labels)
        },
      })
    },
  })
  /** Resolves with every event once there are so many, since events come after the response. */
  const eventsOf = async (count: number): Promise<readonly AuditEvent[]> => {
    while (events.length < count) await new Promise(setImmediate)
    return events
  }
  const entry: Entry = { use }
  return { entry, events, eventsOf, operations }
}

export const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

const trace: Trace = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  sampled: true,
  headers: [['traceparent', TRACEPARENT]],
  intoMeta: true,
  part() {},
  end() {},
}

/** A tracer of the test, whose trace goes into `_meta` too. */
export const tracing = (): Entry => providing('tracing', Tracer, { start: () => trace })
