import type { FastifyRequest } from 'fastify'
import { many } from '../capability.js'
import type { Identity } from '../identity.js'

/**
 * Why an authenticator did not accept a token. `notMine`: another one may. `invalid`: it is of this one's provider, and
 * invalid. `unavailable`: it could not be checked. `busy`: too many tokens are being checked, which says nothing about
 * the token or its provider; the caller is asked to try again.
 */
export interface Rejection {
  readonly kind: 'notMine' | 'invalid' | 'unavailable' | 'busy'
  /** A class for log and metrics, such as `signature`, `claim:aud` or `unreachable`; never a value from the token. */
  readonly cause: string
  /** For the log only, without any part of the token. */
  readonly detail?: string
}

export type Verdict = { readonly identity: Identity } | { readonly rejection: Rejection }

/** One check on the way to a verdict. */
export interface Finding {
  /** What was checked: `iss`, `exp`, `keys`, `signature`. */
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
 * Decides who sent a request. It never writes to the response and never throws for invalid credentials, so that the
 * next one in the list can still accept them. When it throws, or its promise does not settle in time, the request is
 * refused. The bearer token, if there is a well-formed one, is `request.credentials`.
 */
export interface Authenticator {
  readonly provider: string
  /**
   * Nobody is asked for credentials: every request is accepted. Whoever looks at it takes anything but `true` for an
   * authenticator that asks.
   */
  readonly open?: true
  authenticate(request: FastifyRequest): Verdict | Promise<Verdict>
  /** Checks a token and says why, for `sallyport explain`. It may make requests that `authenticate` would not. */
  explain?(token: string): Promise<Explanation>
}

export const Authenticator = many<Authenticator>('authenticator')
