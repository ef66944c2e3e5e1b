import { one } from '../capability.js'
import type { Identity } from '../identity.js'

/**
 * `good`: nothing is revoked that these credentials hang on. `revoked`: the caller has to sign in again. `unknown`: it is
 * not known at present what is revoked, and no request passes.
 */
export type Standing = 'good' | 'revoked' | 'unknown'

/** A sign-in that lasts, as an operator sees it. */
export interface SignIn {
  /** The claim `sid` of its tokens. */
  readonly id: string
  readonly idp: string
  readonly subject: string
  /** What people call the person; the subject when the provider gives no name. */
  readonly name: string
  readonly email?: string | undefined
  /** The clients that use it. */
  readonly client: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** A person, at the provider where people sign in unless `idp` names another; or one sign-in. */
export type Revoked =
  | { readonly subject: string; readonly idp?: string | undefined }
  | { readonly session: string }

/**
 * Decides whether callers whom an authenticator has accepted were revoked since. A person is the pair of `idp` and
 * subject: `idp` is the issuer of the token, but for the tokens of the gateway's own authorization server, which have it
 * as a claim. A revoked person is refused with every token whose sign-in was before the revocation; a token's `iat`
 * stands for the sign-in, unless it says more, and a token that has no time counts as older.
 */
export interface Revocation {
  /**
   * Answers at once and from memory, in the path of every request. It never throws, whatever the claims are. What another
   * process revokes counts within 5 s.
   */
  standing(identity: Identity): Standing
  /** Calls the listener after something was revoked: requests that are still open end then. Returns what ends the calls. */
  onRevoked(listener: () => void): () => void
  /** The sign-ins that last, for an operator. */
  signIns(): Promise<readonly SignIn[]>
  /**
   * Revokes for all processes, and ends the sign-ins concerned; returns how many they were. Once it has resolved it holds,
   * also after restarts.
   */
  revoke(revoked: Revoked): Promise<number>
}

export const Revocation = one<Revocation>('revocation')
