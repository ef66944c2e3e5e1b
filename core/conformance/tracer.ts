import { type Trace, type TraceBeginning, type TraceEnd, Tracer } from '../contract/capabilities/tracer.js'
import type { McpMessage } from '../contract/message.js'
import {
  type CheckResult,
  type ConformanceContext,
  type ConformanceSuite,
  firstFault,
  firstFaultyRequest,
} from './requirement.js'
import { answeredBy, thrownBy } from './synchronous.js'

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

/** With each of the sample requests, whatever it calls. */
const firstOf = (
  context: ConformanceContext,
  check: (beginning: TraceBeginning) => CheckResult | Promise<CheckResult>,
): Promise<CheckResult> =>
  firstFaultyRequest(context, (request) =>
    firstFault(MESSAGES, (message) => check({ request, message, startedAt })),
  )

/** What is wrong with a trace from its start to its end. */
const lifeOf = (trace: Trace, end: TraceEnd): CheckResult =>
  answeredBy(() => trace.part?.({ name: 'verification', startedAt, endedAt: startedAt + 1 })) ??
  answeredBy(() =>
    trace.part?.({ name: 'target', startedAt, endedAt: startedAt + 9, failure: 'target_timeout' }),
  ) ??
  answeredBy(() => trace.end?.(end))

/** `undefined` when it throws, which is reported by another requirement. */
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
      statement: 'takes every request, to its end',
      advice: 'catch what your own sending throws; a parent may be anything that a caller wrote',
      check: (tracer, context) =>
        firstOf(context, (beginning) =>
          firstFault(ENDS, (end) => thrownBy(() => lifeOf(tracer.start(beginning), end))),
        ),
    },
    {
      code: 'TRACER_ANSWERS',
      statement: 'keeps nobody waiting',
      advice:
        'queue what takes time and return at once: a promise is not awaited, and nobody catches its failure',
      check: (tracer, context) =>
        firstOf(context, (beginning) =>
          firstFault(ENDS, (end) => {
            const trace = startedBy(tracer, beginning)
            return trace && lifeOf(trace, end)
          }),
        ),
    },
    {
      code: 'TRACE_ID',
      statement: 'gives each trace an id and headers that can be sent on',
      advice:
        'let `traceId` be 32 hexadecimal digits, not all zero, and `headers` a `traceparent` with this id',
      check: (tracer, context) =>
        firstOf(context, (beginning) => {
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
