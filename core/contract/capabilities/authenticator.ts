import type { FastifyRequest } from 'fastify'
import { many } from '../capability.js'
import type { Identity } from '../identity.js'

/**
 * Why an authenticator did not accept a token. `notMine`: another authenticator may accept it. `invalid`: the token
 * comes from this provider, and is invalid. `unavailable`: the authenticator could not check it. `busy`: too many
 * tokens are being checked at once, which says nothing about the token or its provider; the caller should try again.
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
  /** The subject of the check: `iss`, `exp`, `keys`, `signature`. */
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
 * next authenticator in the list can still accept the request. When it throws, or its promise does not settle in
 * time, the gate refuses the request. `request.credentials` holds the bearer token, if the request has a well-formed
 * one.
 */
export interface Authenticator {
  readonly provider: string
  /**
   * `true` when it accepts every request, without credentials. With any other value it counts as an authenticator
   * that needs credentials.
   */
  readonly open?: true
  authenticate(request: FastifyRequest): Verdict | Promise<Verdict>
  /** Checks a token and says why, for `sallyport explain`. It may make requests that `authenticate` would not. */
  explain?(token: string): Promise<Explanation>
}

export const Authenticator = many<Authenticator>('authenticator')
