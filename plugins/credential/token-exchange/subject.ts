import type { FastifyRequest } from 'fastify'
import { digestOf, type Held, Refusal, UpstreamError } from 'sallyport'

/** The token that is exchanged. */
export interface Subject {
  readonly token: string
  /** What stands for the token in the exchanger's memory. */
  readonly digest: string
  /** Seconds since the epoch. */
  readonly expiresAt: number | undefined
}

/**
 * What an entry before this one held, else the caller's own verified token. Never one in place of the other: a
 * login without an ID token must not turn into the caller.
 */
export function subjectOf(request: FastifyRequest, held: Held | undefined, wantsIdToken: boolean): Subject {
  if (held !== undefined) {
    const token = wantsIdToken ? held.idToken : held.accessToken
    if (token === undefined) throw nothingHeld(wantsIdToken)
    return { token, digest: digestOf(token), expiresAt: held.expiresAt }
  }
  const { token, expiresAt } = request.identity ?? {}
  if (token === undefined) {
    // The code for who sent no credentials: there was no token that could be wrong.
    throw new Refusal(401, 'UNAUTHORIZED', 'this needs a bearer token', {
      reasons: [{ provider: 'token exchange', cause: 'no subject token' }],
    })
  }
  const { credentials } = request
  // Nearly always the very token that the caller sent, whose digest is known already.
  const isSent = credentials.kind === 'bearer' && credentials.token === token
  return { token, digest: isSent ? credentials.digest : digestOf(token), expiresAt }
}

const nothingHeld = (wantsIdToken: boolean): UpstreamError =>
  new UpstreamError('EXCHANGE_WITHOUT_SUBJECT', 'no token for the target could be had', {
    cause: new Error(
      wantsIdToken
        ? 'the login before the exchange has no ID token: its scopes need openid'
        : 'the credential before the exchange has no token',
    ),
  })
