import type { FastifyRequest } from 'fastify'
import { many } from '../capability.js'

/**
 * The sessions of people who signed in with a browser. The gate asks for the token of a GET or HEAD request without
 * `Authorization`, on routes with `config: { session: true }` and on no others; the authenticators then decide about it
 * as about any token.
 */
export interface BrowserSession {
  /**
   * The token of the session that the request belongs to; undefined without a session, and for session data that is
   * forged, changed or expired. When it throws, the gate refuses the request, unless its route is public.
   */
  token(request: FastifyRequest): string | undefined | Promise<string | undefined>
  /**
   * The name of the signed-in person, for a page; empty when the issuer gave no name. It is known after `token` has
   * returned the token of this request.
   */
  person(request: FastifyRequest): string | undefined
  /** The path where a person signs in. The browser then returns to `returnTo`, if that is a path of this gateway. */
  signInPath(returnTo: string): string
  /** The path to which a form posts to sign out. */
  readonly signOutPath: string
}

export const BrowserSession = many<BrowserSession>('browser session')
