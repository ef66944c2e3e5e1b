import type { FastifyRequest } from 'fastify'
import type { OutgoingHeaders } from '../contract/capabilities/header-source.js'
import type { Trace, TraceBeginning, TraceEnd, TracePart, Tracer } from '../contract/capabilities/tracer.js'
import type { McpMessage } from '../contract/message.js'
import { isPromise } from '../toolkit/deadline.js'
import { isAddableHeader } from '../toolkit/header.js'
import type { ObservedBody } from './observed-body.js'

/** Runs an observer, whose errors are logged. */
export type Safely = (observe: () => unknown, message: string) => void

export const TRACER_FAILED = 'a tracer failed'

/** What a tracer gets of a request when its trace starts. */
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
    // Nobody writes these letters as escapes, and who did would lose its own trace alone.
    return unparsed !== undefined && !unparsed.includes(TRACEPARENT)
  }
}

// As bytes: a text would be made into them for each request.
const TRACEPARENT = Buffer.from('traceparent')

const NO_HEADERS: OutgoingHeaders = []

/** What the target gets of a trace: nothing of one that a request could not have. */
export function headersOf(trace: Trace | undefined, safely: Safely): OutgoingHeaders {
  let found = NO_HEADERS
  if (trace === undefined) return found
  safely(() => {
    const { headers } = trace
    if (!Array.isArray(headers) || !headers.every(isAddableHeader))
      throw new TypeError('`headers` of a trace are pairs of a name and a value that a request may have')
    found = headers
  }, TRACER_FAILED)
  return found
}

/** Starts a trace. One that only comes later would be told of nothing, and its rejection would end the process. */
export function startTrace(tracer: Tracer, beginning: TraceBeginning): Trace {
  const trace: Trace | PromiseLike<Trace> = tracer.start(beginning)
  if (!isPromise(trace)) return trace
  trace.then(undefined, () => {})
  throw new TypeError('`start` of a tracer returned a promise: a trace has to be returned at once')
}

/** All tracers of a list as one; most lists have one at most. */
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

/** One that fails takes nothing from the others. What the target gets is of the first. */
class JoinedTrace implements Trace {
  readonly traceId: string
  readonly sampled: boolean

  constructor(
    private readonly traces: readonly Trace[],
    private readonly safely: Safely,
  ) {
    const seen = traces.find(({ sampled }) => sampled) ?? traces[0]
    this.traceId = seen?.traceId ?? ''
    this.sampled = seen?.sampled === true
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

/** The caller's own, where no tracer decides. */
export const traceIdIn = (traceparent: unknown): string | undefined =>
  typeof traceparent === 'string'
    ? /^00-((?!0{32})[\da-f]{32})-[\da-f]{16}-/.exec(traceparent)?.[1]
    : undefined
