import type { FastifyRequest } from 'fastify'

/** The part of an error that a caller may see. */
export interface PublicError {
  readonly status: number
  /** In lower case, from a fixed set. */
  readonly code: string
  readonly sentence: string
  readonly requestId: string
}

/** Makes the body of an error reply. */
export type ErrorShape = (error: PublicError, request: FastifyRequest) => object
