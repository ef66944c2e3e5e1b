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

/** One thing that was looked at on the way to a verdict. */
export interface Finding {
  /** What was looked at: `iss`, `exp`, `keys`, `signature`. */
  readonly about: string
  readonly holds: boolean
  /** For the operator who holds the token: it may quote header and claims, never the signature or a secret. */
  readonly detail: string
}

export interface Explanation {
  readonly verdict: Verdict
  readonly findings: readonly Finding[]
}

/**
 * Decides who sent a request. It answers; it never writes to the response and never throws for bad
 * credentials, so the next one in the list can still accept. What it throws, or a promise that does not
 * settle in time, refuses the request. The bearer token, if there is a well-formed one, is `request.credentials`.
 */
export interface Authenticator {
  readonly provider: string
  authenticate(request: FastifyRequest): Verdict | Promise<Verdict>
  /** Judges a token again and says why, for `sallyport explain`. It may ask the network what a request would not. */
  explain?(token: string): Promise<Explanation>
}

export const Authenticator = many<Authenticator>('authenticator')
