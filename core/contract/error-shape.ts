import type { FastifyRequest } from 'fastify'

/** What a caller may learn of an error. */
export interface PublicError {
  readonly status: number
  /** In lower case, from a fixed set. */
  readonly code: string
  readonly sentence: string
  readonly requestId: string
}

/** Makes the body of an error reply. */
export type ErrorShape = (error: PublicError, request: FastifyRequest) => object
