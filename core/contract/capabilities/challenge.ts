import type { FastifyRequest } from 'fastify'
import { one } from '../capability.js'
import type { Refusal } from '../errors.js'

/** Makes the `WWW-Authenticate` header of a refusal. Without one in the list the challenge is a bare `Bearer`. */
export interface Challenge {
  /** The value of `WWW-Authenticate`. Nothing in it comes from the caller. */
  header(refusal: Refusal, request: FastifyRequest): string
  /** The status when the token could not be checked. */
  readonly unavailableStatus?: 401 | 503
}

export const Challenge = one<Challenge>('challenge')
