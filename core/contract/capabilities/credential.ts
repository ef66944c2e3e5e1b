import type { FastifyRequest } from 'fastify'
import { many } from '../capability.js'

/** The credential that the gateway sends to the target instead of the caller's own. */
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
 * Gives the credential for a request to the target. The list runs in order: each gets the result of the one before
 * it. When one throws, or its promise does not settle in time, the gateway does not send the request.
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
   * Called on every credential of the list that has it, when the target refused the credential. Returns `true` when
   * another try makes sense: the list then runs once more and the gateway sends the request again, three times at
   * most.
   */
  renew?(request: FastifyRequest, refused: TargetRefusal): boolean | Promise<boolean>
}

export const Credential = many<Credential>('credential')
