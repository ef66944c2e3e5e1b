import { type AuditEvent, AuditSink } from '../contract/capabilities/audit-sink.js'
import { type ConformanceSuite, firstFault } from './requirement.js'
import { ROUTE } from './sample-requests.js'
import { answeredBy, thrownBy } from './synchronous.js'

const event: AuditEvent = {
  kind: 'refused',
  at: '2030-01-01T00:00:00.000Z',
  requestId: 'conformance-1',
  method: 'GET',
  route: ROUTE,
}
const EVENTS: readonly AuditEvent[] = [
  event,
  { ...event, status: 401, provider: 'corp', causes: ['signature'] },
  { ...event, status: 401, causes: ['unauthorized'], more: 7, addresses: 3 },
  { ...event, kind: 'accepted', provider: 'corp', subject: 'ä\n"' },
  {
    ...event,
    kind: 'called',
    method: 'POST',
    status: 200,
    provider: 'corp',
    subject: 'ada',
    actors: ['agent'],
    scopes: ['tools:read'],
    mcp: { method: 'tools/call', kind: 'tool', name: 'lö\u2028sch\n', protocolVersion: '2025-11-25' },
    outcome: 'failed',
    causes: ['tool_error'],
    durationMs: 1.5,
    traceId: '0af7651916cd43dd8448eb211c80319c',
  },
]

export const auditSinkConformance: ConformanceSuite<AuditSink> = {
  capability: AuditSink,
  requirements: [
    {
      code: 'SINK_THROWS',
      statement: 'takes every event',
      advice: 'catch what your own writing throws',
      check: (sink) => firstFault(EVENTS, (each) => thrownBy(() => sink({ ...each }))),
    },
    {
      code: 'SINK_ANSWERS',
      statement: 'keeps nobody waiting',
      advice:
        'queue what takes time and return at once: a promise is not awaited, and nobody catches its failure',
      check: (sink) => firstFault(EVENTS, (each) => answeredBy(() => sink({ ...each }))),
    },
    {
      code: 'EVENT_CHANGED',
      statement: 'leaves the event as it is',
      advice: 'take a copy: the next sink gets this very event',
      check: (sink) =>
        firstFault(EVENTS, (each) => {
          const given = { ...each }
          thrownBy(() => sink(given))
          return JSON.stringify(given) === JSON.stringify(each) ? undefined : 'it changes the event'
        }),
    },
  ],
}
