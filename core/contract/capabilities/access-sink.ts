import type { FastifyRequest } from 'fastify'
import { many } from '../capability.js'

/** A request of the main port whose response has ended, or whose connection has closed before that. */
export interface EndedRequest {
  readonly request: FastifyRequest
  /** 101 for an upgrade, 499 when the client disconnected before the response began. */
  readonly status: number
  /** From the request's headers to the end of its response. */
  readonly durationMs: number
  /** Bytes of the response's body; for an upgrade all that was sent over its connection. */
  readonly bytes: number
  /** The response was not complete. */
  readonly aborted: boolean
  /** The log has a line about its refusal. */
  readonly refused: boolean
}

/**
 * Gets each request when its response has ended: refused ones, event streams and upgrades too. It must not block: it
 * queues what takes time. Its errors are logged. Requests of `dispatch` are not
 * among them.
 */
export interface AccessSink {
  /** The least status that it wants: 400 for what was refused or failed, which costs the other requests nothing. */
  readonly from: 0 | 400
  ended(request: EndedRequest): void
}

export const AccessSink = many<AccessSink>('access sink', { shared: true, observes: true })
