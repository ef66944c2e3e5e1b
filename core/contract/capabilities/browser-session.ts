import type { FastifyRequest } from 'fastify'
import { many } from '../capability.js'

/**
 * The sessions of people who signed in with a browser. The gate asks for the token of a GET or HEAD request without
 * `Authorization`, on routes with `config: { session: true }` and on no others; the authenticators then decide about it
 * as about any token.
 */
export interface BrowserSession {
  /**
   * The token of the session that the request belongs to; undefined without one, also when what the request brings was
   * made up, changed, or has expired. When it throws, the request is refused, unless its route is public.
   */
  token(request: FastifyRequest): string | undefined | Promise<string | undefined>
  /**
   * The name of who is signed in, for a page, and empty when the issuer told none: known once `token` has returned the
   * token of this request.
   */
  person(request: FastifyRequest): string | undefined
  /** The path where a person signs in, to come back to `returnTo` if that is a path of this gateway. */
  signInPath(returnTo: string): string
  /** Where a form posts to sign out. */
  readonly signOutPath: string
}

export const BrowserSession = many<BrowserSession>('browser session')
