import type { FastifyRequest } from 'fastify'
import { many } from '../capability.js'

/** What goes to the target in place of the caller's own credential. */
export interface Held {
  /** The header that carries it, in lower case. */
  readonly header: string
  readonly value: string
  /** The bare tokens, for an exchange that comes later in the list. */
  readonly accessToken?: string
  readonly idToken?: string
  /** Seconds since the epoch. */
  readonly expiresAt?: number
}

/** The target's answer to a credential it did not take. */
export interface TargetRefusal {
  readonly status: 401 | 403
  /** How often the target has refused this request, 1 at first. */
  readonly attempt: number
  /** Every `WWW-Authenticate` header of the answer. */
  readonly challenges: readonly string[]
}

/**
 * Gives the credential for a request on its way out. The list is folded in order: each gets what the one
 * before it held. Throwing, or a promise that does not settle in time, means the target is never asked.
 */
export interface Credential {
  readonly name: string
  /** Milliseconds that a promise of `present` or `renew` may take; the kernel's own limit when unset. */
  readonly deadline?: number
  present(request: FastifyRequest, held: Held | undefined): Held | undefined | Promise<Held | undefined>
  /**
   * The target refused what was presented. `true` when another try is worth it: the fold then runs once more
   * and the request is sent again, three times at most. Every credential of the list that can renew is asked.
   */
  renew?(request: FastifyRequest, refused: TargetRefusal): boolean | Promise<boolean>
}

export const Credential = many<Credential>('credential')
