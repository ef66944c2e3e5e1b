import type { FastifyRequest } from 'fastify'
import type { OutgoingHeaders } from '../contract/capabilities/header-source.js'
import type { Trace, TraceBeginning, TraceEnd, TracePart, Tracer } from '../contract/capabilities/tracer.js'
import type { McpMessage } from '../contract/message.js'
import { isPromise } from '../toolkit/deadline.js'
import { isAddableHeader } from '../toolkit/header.js'
import type { ObservedBody } from './observed-body.js'

/** Runs an observer, and logs its errors with this message. */
export type Safely = (observe: () => unknown, message: string) => void

export const TRACER_FAILED = 'a tracer failed'

/** The request as a tracer gets it when its trace starts. */
export class Beginning implements TraceBeginning {
  constructor(
    readonly request: FastifyRequest,
    readonly startedAt: number,
    private readonly body: ObservedBody,
  ) {}

  get message(): McpMessage | undefined {
    return this.body.message
  }

  get withoutContext(): boolean {
    const { unparsed } = this.body
    // A client that writes these letters as escapes, which is unusual, loses only its own trace.
    return unparsed !== undefined && !unparsed.includes(TRACEPARENT)
  }
}

// As bytes: Node would encode a string for each request.
const TRACEPARENT = Buffer.from('traceparent')

const NO_HEADERS: OutgoingHeaders = []

/** The headers of a trace for the target; none if any of them is not a valid request header. */
export function headersOf(trace: Trace | undefined, safely: Safely): OutgoingHeaders {
  let found = NO_HEADERS
  if (trace === undefined) return found
  safely(() => {
    const { headers } = trace
    if (!Array.isArray(headers) || !headers.every(isAddableHeader))
      throw new TypeError('`headers` of a trace must be pairs of a name and a value that a request may have')
    found = headers
  }, TRACER_FAILED)
  return found
}

/**
 * Starts a trace. Throws for a promise of one: that trace would get no parts, and a rejection would end the process.
 */
export function startTrace(tracer: Tracer, beginning: TraceBeginning): Trace {
  const trace: Trace | PromiseLike<Trace> = tracer.start(beginning)
  if (!isPromise(trace)) return trace
  trace.then(undefined, () => {})
  throw new TypeError('`start` of a tracer returned a promise: it has to return the trace itself')
}

/** All tracers of a list as one. */
export function joinedTracer(tracers: readonly Tracer[], safely: Safely): Tracer | undefined {
  return tracers.length > 1 ? new JoinedTracer(tracers, safely) : tracers[0]
}

class JoinedTracer implements Tracer {
  constructor(
    private readonly tracers: readonly Tracer[],
    private readonly safely: Safely,
  ) {}

  start(beginning: TraceBeginning): Trace {
    const traces: Trace[] = []
    for (const tracer of this.tracers)
      this.safely(() => void traces.push(startTrace(tracer, beginning)), TRACER_FAILED)
    return new JoinedTrace(traces, this.safely)
  }
}

/** All traces get all parts, also when one of them throws. The target gets the headers of the first. */
class JoinedTrace implements Trace {
  readonly traceId: string
  readonly sampled: boolean

  constructor(
    private readonly traces: readonly Trace[],
    private readonly safely: Safely,
  ) {
    const shown = traces.find(({ sampled }) => sampled) ?? traces[0]
    this.traceId = shown?.traceId ?? ''
    this.sampled = shown?.sampled === true
  }

  get headers(): OutgoingHeaders {
    return this.traces[0]?.headers ?? []
  }

  get intoMeta(): boolean {
    return this.traces[0]?.intoMeta === true
  }

  part(part: TracePart): void {
    for (const trace of this.traces) this.safely(() => trace.part?.(part), TRACER_FAILED)
  }

  end(end: TraceEnd): void {
    for (const trace of this.traces) this.safely(() => trace.end?.(end), TRACER_FAILED)
  }
}

/** The trace id of the caller, for requests without a tracer. */
export const traceIdIn = (traceparent: unknown): string | undefined =>
  typeof traceparent === 'string'
    ? /^00-((?!0{32})[\da-f]{32})-[\da-f]{16}-/.exec(traceparent)?.[1]
    : undefined
