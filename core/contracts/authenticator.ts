import type { FastifyRequest } from 'fastify'
import { many } from '../capability.js'
import type { Identity } from './identity.js'

/**
 * Why an authenticator did not accept. `notMine`: another may know this token. `invalid`: it is this one's
 * to judge, and it is bad. `unavailable`: it could not tell.
 */
export interface Rejection {
  readonly kind: 'notMine' | 'invalid' | 'unavailable'
  /** A class for log and metrics, such as `signature`, `claim:aud` or `unreachable`; never a value from the token. */
  readonly cause: string
  /** For the log only, without any part of the token. */
  readonly detail?: string
}

export type Verdict = { readonly identity: Identity } | { readonly rejection: Rejection }

/**
 * Decides who sent a request. It answers; it never writes to the response and never throws for bad
 * credentials, so the next one in the list can still accept. What it throws, or a promise that does not
 * settle in time, refuses the request. The bearer token, if there is a well-formed one, is `request.credentials`.
 */
export interface Authenticator {
  readonly provider: string
  authenticate(request: FastifyRequest): Verdict | Promise<Verdict>
}

export const Authenticator = many<Authenticator>('authenticator')
