import { one } from '../capability.js'
import type { Identity } from '../identity.js'

/** The tokens that a provider gave for a caller. They are for that provider, or for a token exchange; never for a log. */
export interface HeldTokens {
  readonly access: string
  readonly id?: string | undefined
  /** When the token that was asked for expires, in milliseconds since the epoch; absent when that is unknown. */
  readonly expiresAt?: number | undefined
  /**
   * The key under which something that was obtained with these tokens may be cached: it stays the same when they are
   * refreshed, and differs for every other caller and every other sign-in. No token can be computed from it.
   */
  readonly holder: string
}

/**
 * Gives what the gateway holds of a caller, by name: `login` is what the identity provider gave when the person signed in
 * at the gateway. Tokens are refreshed when the `wanted` one, the access token by default, has expired.
 *
 * `undefined` when nothing of that name is held of this kind of caller, who then has no other token than its own. A caller
 * who came by a sign-in gets the tokens of that sign-in, or an error: a Refusal 401 when it has ended, so that the client
 * signs in again, and an UpstreamError 503 while the provider does not answer.
 */
export type CallerTokens = (
  caller: Identity,
  name: string,
  wanted?: 'access' | 'id',
) => HeldTokens | undefined | Promise<HeldTokens | undefined>

export const CallerTokens = one<CallerTokens>('caller tokens')
