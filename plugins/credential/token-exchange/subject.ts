import type { FastifyRequest } from 'fastify'
import { type Identity, type OutgoingCredential, Refusal, UpstreamError } from 'sallyport'
import { digestOf } from 'sallyport/toolkit'

/** The token that is exchanged. */
export interface Subject {
  readonly token: string
  /** The cache key of the token. */
  readonly digest: string
  /** Seconds since the epoch. */
  readonly expiresAt: number | undefined
  readonly caller: Identity | undefined
}

/**
 * The token of the credential before this one in the list, else the caller's own verified token. Never one instead of
 * the other: for a login without an ID token, the caller's token must not be used.
 */
export function subjectOf(
  request: FastifyRequest,
  previous: OutgoingCredential | undefined,
  wantsIdToken: boolean,
): Subject {
  const { identity: caller } = request
  if (previous !== undefined) {
    const token = wantsIdToken ? previous.idToken : previous.accessToken
    if (token === undefined) throw noSubject(wantsIdToken)
    return { token, digest: digestOf(token), expiresAt: previous.expiresAt, caller }
  }
  const { token, expiresAt } = caller ?? {}
  if (token === undefined) {
    // The code for missing credentials: there was no token that could be invalid.
    throw new Refusal(401, 'UNAUTHORIZED', 'this needs a bearer token', {
      reasons: [{ provider: 'token exchange', cause: 'no subject token' }],
    })
  }
  const { credentials } = request
  // Nearly always the token that the caller sent, whose digest is known already.
  const isSent = credentials.kind === 'bearer' && credentials.token === token
  return { token, digest: isSent ? credentials.digest : digestOf(token), expiresAt, caller }
}

const noSubject = (wantsIdToken: boolean): UpstreamError =>
  new UpstreamError('EXCHANGE_WITHOUT_SUBJECT', 'no token for the target could be obtained', {
    cause: new Error(
      wantsIdToken
        ? 'the login before the exchange has no ID token: its scopes need openid'
        : 'the credential before the exchange has no token',
    ),
  })
