import type { FastifyRequest } from 'fastify'
import { many } from '../capability.js'
import type { McpMessage } from '../message.js'
import type { AuditOutcome } from './audit-sink.js'

/** All times are milliseconds since the epoch, with their fraction. */
export interface TraceBeginning {
  readonly request: FastifyRequest
  /**
   * The message of a POST to an MCP server; `undefined` for other requests, and for a body that cannot be read. The
   * message of a large body, or of one in chunks, is not known at the start, but at the end. Reading this property
   * parses the body: for a trace that is not sampled, only `start` may do so.
   */
  readonly message: McpMessage | undefined
  /** No `_meta` of the message holds trace context: a tracer that needs nothing else need not read `message`. */
  readonly withoutContext?: boolean
  readonly startedAt: number
}

/** A part of a request that takes time of its own: `verification`, `exchange`, `login`, `target`. */
export interface TracePart {
  readonly name: string
  readonly startedAt: number
  readonly endedAt: number
  /** Why it failed, in a word of a small set. */
  readonly failure?: string
}

export interface TraceEnd {
  readonly endedAt: number
  readonly status: number
  readonly outcome: AuditOutcome
  /** Why it was refused or failed, in words of a small set. */
  readonly causes: readonly string[]
  /** The code of the JSON-RPC error with which it failed. */
  readonly rpcCode?: number
}

/**
 * The trace of one request. The gateway calls its functions, as far as it has them, in this order; nothing follows
 * `end`.
 */
export interface Trace {
  /** In hexadecimal. */
  readonly traceId: string
  /** Whether the tracer exports this trace. */
  readonly sampled: boolean
  /** The headers that the target gets instead of the caller's own `traceparent` and `tracestate`. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The gateway also writes these headers into the `_meta` of the call. */
  readonly intoMeta?: boolean
  /** Some parts end before the trace has started. A trace that is not sampled may get no parts. */
  part?(part: TracePart): void
  end?(end: TraceEnd): void
}

/**
 * Follows requests of the main port. `start` is called once for each request: before it goes to the target, or at
 * its end. No function may block or wait: a tracer queues work that takes time. The gateway logs their errors, which
 * stop no request.
 */
export interface Tracer {
  start(beginning: TraceBeginning): Trace
}

/** The headers of a list with several tracers are those of the first. */
export const Tracer = many<Tracer>('tracer', { shared: true, observes: true })
