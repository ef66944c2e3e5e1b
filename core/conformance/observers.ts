import type { FastifyRequest } from 'fastify'
import { AccessSink, type EndedRequest } from '../contract/capabilities/access-sink.js'
import { type AuditEvent, AuditSink } from '../contract/capabilities/audit-sink.js'
import { type Instrument, Telemetry } from '../contract/capabilities/telemetry.js'
import { type Trace, type TraceBeginning, type TraceEnd, Tracer } from '../contract/capabilities/tracer.js'
import type { McpMessage } from '../contract/message.js'
import {
  type CheckResult,
  type ConformanceContext,
  type ConformanceSuite,
  firstFault,
  firstFaultyRequest,
  messageOf,
} from './requirement.js'
import { ROUTE } from './sample-requests.js'

const endsOf = (request: FastifyRequest): readonly EndedRequest[] => {
  const ended = { request, status: 200, durationMs: 1.5, bytes: 10, aborted: false, refused: false }
  return [
    ended,
    { ...ended, status: 401, refused: true },
    { ...ended, status: 499, bytes: 0, aborted: true },
    { ...ended, status: 502 },
  ]
}

/** Requests without and with an identity. */
async function firstOf(
  context: ConformanceContext,
  check: (ended: EndedRequest) => CheckResult,
): Promise<CheckResult> {
  const faults: CheckResult[] = []
  const look = async (request: FastifyRequest): Promise<void> =>
    void faults.push(await firstFault(endsOf(request), check))
  await context.anonymousRequests(look)
  await context.authenticatedRequest(look)
  return faults.find((fault) => fault !== undefined)
}

export const accessSinkConformance: ConformanceSuite<AccessSink> = {
  capability: AccessSink,
  requirements: [
    {
      code: 'ACCESS_FROM',
      statement: 'declares the lowest status that it wants',
      advice: 'set `from` to 400 for refused and failed requests, or to 0 for all',
      check: ({ from }) => ([0, 400].includes(from) ? undefined : `\`from\` is ${String(from)}`),
    },
    {
      code: 'ACCESS_THROWS',
      statement: 'accepts every request that has ended',
      advice: 'catch the errors of your own writing; a request may have no identity and no route',
      check: (sink, context) => firstOf(context, (ended) => thrownBy(() => sink.ended(ended))),
    },
    {
      code: 'ACCESS_ANSWERS',
      statement: 'returns at once',
      advice:
        'queue work that takes time: the gateway does not await a promise, and does not catch its rejection',
      check: (sink, context) => firstOf(context, (ended) => answeredBy(() => sink.ended(ended))),
    },
  ],
}

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
      statement: 'accepts every event',
      advice: 'catch the errors of your own writing',
      check: (sink) => firstFault(EVENTS, (each) => thrownBy(() => sink({ ...each }))),
    },
    {
      code: 'SINK_ANSWERS',
      statement: 'returns at once',
      advice:
        'queue work that takes time: the gateway does not await a promise, and does not catch its rejection',
      check: (sink) => firstFault(EVENTS, (each) => answeredBy(() => sink({ ...each }))),
    },
    {
      code: 'EVENT_CHANGED',
      statement: 'leaves the event unchanged',
      advice: 'copy the event before you change it: the next sink gets the same object',
      check: (sink) =>
        firstFault(EVENTS, (each) => {
          const given = { ...each }
          thrownBy(() => sink(given))
          return JSON.stringify(given) === JSON.stringify(each) ? undefined : 'it changes the event'
        }),
    },
  ],
}

const instrument = (kind: Instrument['kind'], labels: readonly string[]): Instrument => ({
  kind,
  name: `conformance_${kind}_total`,
  help: 'Something that is counted.',
  labels,
})
const MEASURED: readonly Parameters<Telemetry['measure']>[] = [
  [instrument('counter', ['outcome']), 1, { outcome: 'ok' }],
  [instrument('counter', ['outcome']), 2, { outcome: 'a "quoted"\n line' }],
  [instrument('gauge', []), -1.5, {}],
  [instrument('histogram', ['route']), 0.2, { route: '/x' }],
  [instrument('histogram', ['route']), 0, { route: '/y' }],
  [instrument('histogram', ['route']), 7, { route: '/y' }, '4bf92f3577b34da6a3ce929d0e0e4736'],
]

export const telemetryConformance: ConformanceSuite<Telemetry> = {
  capability: Telemetry,
  requirements: [
    {
      code: 'TELEMETRY_THROWS',
      statement: 'accepts every measurement, also repeated ones of an instrument',
      advice: 'make an instrument at its first measurement, and catch the errors of your own sending',
      check: (telemetry) => firstFault(MEASURED, (each) => thrownBy(() => telemetry.measure(...each))),
    },
    {
      code: 'TELEMETRY_ANSWERS',
      statement: 'returns at once',
      advice: 'collect, and send from a timer that `onStop` ends: this runs for every request',
      check: (telemetry) => firstFault(MEASURED, (each) => answeredBy(() => telemetry.measure(...each))),
    },
  ],
}

const startedAt = Date.UTC(2030, 0)
const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

const call = {
  kind: 'request',
  method: 'tools/call',
  subjects: [{ kind: 'tool', name: 'lö\u2028\n' }],
} as const
const MESSAGES: readonly (McpMessage | undefined)[] = [
  undefined,
  { protocolVersion: undefined, isBatch: false, calls: [{ ...call, id: 1 }] },
  {
    protocolVersion: '2025-11-25',
    isBatch: false,
    calls: [{ ...call, id: null, trace: { traceparent: PARENT, tracestate: 'a=1' } }],
  },
  {
    protocolVersion: 'ä',
    isBatch: true,
    calls: [
      { ...call, id: 'x', trace: { traceparent: '\0'.repeat(1000), tracestate: '=,=' } },
      { kind: 'response', method: '', subjects: [] },
    ],
  },
]

const END: TraceEnd = { endedAt: startedAt + 20, status: 200, outcome: 'allowed', causes: [] }
const ENDS: readonly TraceEnd[] = [
  END,
  { ...END, status: 499, outcome: 'failed', causes: ['aborted'] },
  { ...END, status: 403, outcome: 'denied', causes: ['denied', 'scope'] },
]

/** Runs with each of the sample requests, whatever it calls. */
const firstTraced = (
  context: ConformanceContext,
  check: (beginning: TraceBeginning) => CheckResult | Promise<CheckResult>,
): Promise<CheckResult> =>
  firstFaultyRequest(context, (request) =>
    firstFault(MESSAGES, (message) => check({ request, message, startedAt })),
  )

/** The fault of a trace, from its start to its end. */
const lifeOf = (trace: Trace, end: TraceEnd): CheckResult =>
  answeredBy(() => trace.part?.({ name: 'verification', startedAt, endedAt: startedAt + 1 })) ??
  answeredBy(() =>
    trace.part?.({ name: 'target', startedAt, endedAt: startedAt + 9, failure: 'target_timeout' }),
  ) ??
  answeredBy(() => trace.end?.(end))

/** `undefined` when it throws; another requirement reports that. */
function startedBy(tracer: Tracer, beginning: TraceBeginning): Trace | undefined {
  try {
    return tracer.start(beginning)
  } catch {
    return undefined
  }
}

export const tracerConformance: ConformanceSuite<Tracer> = {
  capability: Tracer,
  requirements: [
    {
      code: 'TRACER_THROWS',
      statement: 'accepts every request, to its end',
      advice: 'catch the errors of your own sending; a caller may send any text as parent',
      check: (tracer, context) =>
        firstTraced(context, (beginning) =>
          firstFault(ENDS, (end) => thrownBy(() => lifeOf(tracer.start(beginning), end))),
        ),
    },
    {
      code: 'TRACER_ANSWERS',
      statement: 'returns at once',
      advice:
        'queue work that takes time: the gateway does not await a promise, and does not catch its rejection',
      check: (tracer, context) =>
        firstTraced(context, (beginning) =>
          firstFault(ENDS, (end) => {
            const trace = startedBy(tracer, beginning)
            return trace && lifeOf(trace, end)
          }),
        ),
    },
    {
      code: 'TRACE_ID',
      statement: 'gives each trace an id and valid headers for the target',
      advice:
        'let `traceId` be 32 hexadecimal digits, not all zero, and `headers` a `traceparent` with this id',
      check: (tracer, context) =>
        firstTraced(context, (beginning) => {
          const trace = startedBy(tracer, beginning)
          const fault = trace && faultOfIds(trace)
          thrownBy(() => trace?.end?.(END))
          return fault
        }),
    },
  ],
}

function faultOfIds({ traceId, headers }: Trace): CheckResult {
  if (!/^(?!0+$)[\da-f]{32}$/.test(traceId)) return `the id is ${JSON.stringify(traceId)}`
  const parents = headers.filter(([name]) => name === 'traceparent').map(([, value]) => value)
  const [parent = ''] = parents
  if (parents.length === 1 && new RegExp(`^00-${traceId}-(?!0+-)[\\da-f]{16}-[\\da-f]{2}$`).test(parent))
    return undefined
  return `the headers have ${JSON.stringify(parents)} for \`traceparent\``
}

/** The error of a call. Other requirements report a promise; no requirement reports its rejection. */
export function thrownBy(call: () => unknown): string | undefined {
  try {
    const answer = call()
    if (answer instanceof Promise) answer.catch(() => {})
    return undefined
  } catch (error) {
    return `it throws: ${messageOf(error)}`
  }
}

/**
 * Checks that a call returns nothing, since the gateway does not wait for it. Another requirement reports its error.
 */
function answeredBy(call: () => unknown): string | undefined {
  let answer: unknown
  const thrown = thrownBy(() => {
    answer = call()
    return answer
  })
  return thrown !== undefined || answer === undefined ? undefined : 'it returns a value, perhaps a promise'
}
