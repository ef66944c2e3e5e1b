import type { FastifyRequest } from 'fastify'
import { many } from '../capability.js'

/** What is sent to the target in place of the caller's own credentials. */
export interface OutgoingCredential {
  /** The header that carries it, in lower case. */
  readonly header: string
  readonly value: string
  /** The bare tokens, for a token exchange that comes later in the list. */
  readonly accessToken?: string
  readonly idToken?: string
  /** Seconds since the epoch. */
  readonly expiresAt?: number
}

/** The target's response to a credential that it did not accept. */
export interface TargetRefusal {
  readonly status: 401 | 403
  /** How often the target has refused this request, 1 at first. */
  readonly attempt: number
  /** Every `WWW-Authenticate` header of the response. */
  readonly challenges: readonly string[]
}

/**
 * Gives the credential for a request to the target. The list runs in order: each gets the result of the one before it.
 * When one throws, or its promise does not settle in time, the request is not sent.
 */
export interface Credential {
  readonly name: string
  /** Milliseconds that a promise of `present` or `renew` may take; the kernel's own limit when unset. */
  readonly deadline?: number
  present(
    request: FastifyRequest,
    before: OutgoingCredential | undefined,
  ): OutgoingCredential | undefined | Promise<OutgoingCredential | undefined>
  /**
   * The target refused the credential. `true` when another try makes sense: the list then runs once more and the request
   * is sent again, three times at most. Called on every credential of the list that has it.
   */
  renew?(request: FastifyRequest, refused: TargetRefusal): boolean | Promise<boolean>
}

export const Credential = many<Credential>('credential')
