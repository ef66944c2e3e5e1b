import type { FastifyRequest } from 'fastify'
import { many } from '../capability.js'

/** A request of the main port whose response has ended, or whose connection has closed before that. */
export interface EndedRequest {
  readonly request: FastifyRequest
  /** 101 for an upgrade, 499 when the client disconnected before the response began. */
  readonly status: number
  /** From the request's headers to the end of its response. */
  readonly durationMs: number
  /** Bytes of the response's body; for an upgrade, all bytes that the gateway sent over its connection. */
  readonly bytes: number
  /** The response was not complete. */
  readonly aborted: boolean
  /** The log has a line about its refusal. */
  readonly refused: boolean
}

/**
 * Gets each request when its response has ended, also refused requests, event streams and upgrades, but no requests
 * of `dispatch`. It must not block: it queues work that takes time. The gateway logs its errors.
 */
export interface AccessSink {
  /**
   * The lowest status that it wants. With 400 it gets only refused and failed requests, and the others cost nothing.
   */
  readonly from: 0 | 400
  ended(request: EndedRequest): void
}

export const AccessSink = many<AccessSink>('access sink', { shared: true, observes: true })
