import type { FastifyRequest } from 'fastify'
import {
  type CallerTokens,
  type HeldTokens,
  type Identity,
  type OutgoingCredential,
  Refusal,
  UpstreamError,
} from 'sallyport'
import { digestOf, isPromise } from 'sallyport/toolkit'

/** The token that is exchanged. */
export interface Subject {
  readonly token: string
  /** The cache key: of the token, or of the sign-in that it is from. */
  readonly digest: string
  /** Seconds since the epoch. */
  readonly expiresAt: number | undefined
  readonly caller: Identity | undefined
}

/** Finds the token to exchange for a request. */
export class SubjectTokens {
  constructor(
    private readonly callerTokens: () => CallerTokens | undefined,
    private readonly wantsIdToken: boolean,
  ) {}

  /**
   * The token of the credential before this one in the list, else what the identity provider gave for the caller, else the
   * caller's own verified token. Never one instead of the other: for a login without an ID token, the caller's token must
   * not be used.
   */
  of(request: FastifyRequest, previous: OutgoingCredential | undefined): Subject | Promise<Subject> {
    const { identity } = request
    if (previous !== undefined) return this.ofPrevious(previous, identity)
    const wanted = this.wantsIdToken ? 'id' : 'access'
    const held = identity && this.callerTokens()?.(identity, 'login', wanted)
    if (!isPromise(held)) return this.ofCaller(request, held)
    return held.then((tokens) => this.ofCaller(request, tokens))
  }

  private ofPrevious(previous: OutgoingCredential, caller: Identity | undefined): Subject {
    const token = this.wantsIdToken ? previous.idToken : previous.accessToken
    if (token === undefined) throw noSubject(this.wantsIdToken)
    return { token, digest: digestOf(token), expiresAt: previous.expiresAt, caller }
  }

  private ofCaller(request: FastifyRequest, held: HeldTokens | undefined): Subject {
    if (held === undefined) return ownToken(request)
    const { access, id, expiresAt, holder } = held
    const token = this.wantsIdToken ? id : access
    if (token === undefined) throw noSubject(this.wantsIdToken)
    return {
      token,
      // Of the person and the sign-in: a refreshed token is still of the same caller. No digest begins so.
      digest: `login ${holder}`,
      expiresAt: expiresAt === undefined ? undefined : expiresAt / 1000,
      caller: request.identity,
    }
  }
}

function ownToken(request: FastifyRequest): Subject {
  const { identity: caller, credentials } = request
  const { token, expiresAt } = caller ?? {}
  if (token === undefined) {
    // The code for missing credentials: there was no token that could be invalid.
    throw new Refusal(401, 'UNAUTHORIZED', 'this needs a bearer token', {
      reasons: [{ provider: 'token exchange', cause: 'no subject token' }],
    })
  }
  // Nearly always the token that the caller sent, whose digest is known already.
  const isSent = credentials.kind === 'bearer' && credentials.token === token
  return { token, digest: isSent ? credentials.digest : digestOf(token), expiresAt, caller }
}

const noSubject = (wantsIdToken: boolean): UpstreamError =>
  new UpstreamError('EXCHANGE_WITHOUT_SUBJECT', 'no token for the target could be obtained', {
    cause: new Error(
      wantsIdToken
        ? 'the login has no ID token: its scopes need openid'
        : 'the credential before the exchange has no token',
    ),
  })
