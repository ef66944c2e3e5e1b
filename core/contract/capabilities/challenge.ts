import type { FastifyRequest } from 'fastify'
import { one } from '../capability.js'
import type { Refusal } from '../errors.js'

/** Words a refusal for the caller's client. Without one in the list the challenge is a bare `Bearer`. */
export interface Challenge {
  /** The value of `WWW-Authenticate`. Everything in it is the operator's or fixed, never the caller's. */
  header(refusal: Refusal, request: FastifyRequest): string
  /** The status when everyone who could have decided was out of reach. */
  readonly unavailableStatus?: 401 | 503
}

export const Challenge = one<Challenge>('challenge')
