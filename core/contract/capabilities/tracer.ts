import type { FastifyRequest } from 'fastify'
import { many } from '../capability.js'
import type { McpMessage } from '../message.js'
import type { AuditOutcome } from './audit-sink.js'

/** All times are milliseconds since the epoch, with their fraction. */
export interface TraceBeginning {
  readonly request: FastifyRequest
  /**
   * What a POST to an MCP server calls; `undefined` for other requests, and where it could not be read. Of a large body,
   * or one in chunks, it is not known at the start, but at the end. The body is parsed for who asks: of a trace that is not
   * sampled only `start` may.
   */
  readonly message: McpMessage | undefined
  /** No `_meta` says anything of a trace: who looks for that alone need not ask for `message`. */
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
  /** The code of the error of JSON-RPC that it failed by. */
  readonly rpcCode?: number
}

/** The trace of one request. Its functions, as far as it has them, are called in this order; nothing follows `end`. */
export interface Trace {
  /** In hexadecimal. */
  readonly traceId: string
  /** Whether somebody will be able to look at it. */
  readonly sampled: boolean
  /** What the target gets in place of the caller's own headers `traceparent` and `tracestate`. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** These are written into the `_meta` of what is called too. */
  readonly intoMeta?: boolean
  /** Some end before the trace has started. One that is not sampled may get none. */
  part?(part: TracePart): void
  end?(end: TraceEnd): void
}

/**
 * Follows requests of the main port. `start` is called once for each: before it goes to the target, or at its end. None
 * of these may block or wait: what takes time is queued. Their errors are logged, and stop no request.
 */
export interface Tracer {
  start(beginning: TraceBeginning): Trace
}

/** The headers of a list with several tracers are those of the first. */
export const Tracer = many<Tracer>('tracer', { shared: true, observes: true })
