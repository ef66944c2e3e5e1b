import type { Duplex } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Body } from './body.js'
import type { FlatHeaders } from './headers.js'

/** A request as it goes to the target. */
export interface Outgoing {
  readonly method: string
  readonly path: string
  readonly headers: FlatHeaders
  /** All of it, none of it, or the caller's own stream. */
  readonly body: Buffer | Body | undefined
  /** Milliseconds that the target may take to begin its answer; 0 for as long as it likes. */
  readonly patience: number
  readonly upgrade: boolean
  readonly reply: FastifyReply
}

/** The head of an answer, as the target wrote it. */
export interface Head {
  readonly status: number
  readonly reason: string
  readonly headers: readonly string[]
}

/** Gets what a lane brings from the target: one head, then data, then an end; or an error at any point. */
export interface Receiver {
  /** `false` holds the body back until `Trip.resume`. */
  head(head: Head, trip: Trip): boolean
  /** `false` holds further data back until `Trip.resume`. */
  data(chunk: Buffer): boolean
  end(trailers: readonly string[]): void
  failed(error: unknown): void
  /** What stands behind the body of the request, once that has ended. */
  trailers(): FlatHeaders
  /** The target wants the body (`100 Continue`). */
  proceed(): void
  /** The target changed protocols; `early` came with its head. */
  upgraded(head: Head, socket: Duplex, early: Buffer): void
}

/** A request under way. */
export interface Trip {
  resume(): void
  /** Ends it now; the receiver hears nothing more of it. */
  abort(): void
}

/** A way to the target. */
export interface Lane {
  send(outgoing: Outgoing, receiver: Receiver): Trip
  close(): void
}

export interface Lanes {
  readonly quick: Lane
  readonly wide: Lane
}
