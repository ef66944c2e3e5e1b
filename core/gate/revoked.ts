import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Revocation } from '../contract/capabilities/revocation.js'
import { Refusal } from '../contract/errors.js'
import type { Identity } from '../contract/identity.js'
import { observationOf } from '../observe/observation.js'

/** An accepted request, and what decides whether its caller is revoked later. */
interface Judged {
  readonly request: FastifyRequest
  readonly revocation: Revocation
}

const JUDGED = Symbol('judged')

/** Refuses a caller who was revoked, and has the request end when the caller is revoked before its response is complete. */
export function refuseRevoked(
  revocation: Revocation,
  request: FastifyRequest,
  identity: Identity,
  provider: string,
): void {
  const standing = revocation.standing(identity)
  if (standing === 'good') {
    Reflect.set(request.raw, JUDGED, { request, revocation } satisfies Judged)
    return
  }
  if (standing === 'revoked')
    throw new Refusal(401, 'INVALID_TOKEN', 'the token was revoked: sign in again', {
      reasons: [{ provider, cause: 'revoked' }],
    })
  // Never `invalid_token`: the client would drop a token that may be good.
  throw new Refusal(503, 'AUTHENTICATION_UNAVAILABLE', 'the token cannot be checked right now', {
    reasons: [{ provider, cause: 'revocations_unknown' }],
    retryAfter: 5,
  })
}

/** Ends the responses whose callers are revoked, such as event streams and WebSockets, which may last for days. */
export function endRevoked(responses: readonly ServerResponse[]): void {
  for (const response of responses) {
    const { [JUDGED]: judged }: IncomingMessage & { readonly [JUDGED]?: Judged } = response.req
    const identity = judged?.request.identity
    if (judged === undefined || identity === undefined) continue
    if (judged.revocation.standing(identity) !== 'revoked') continue
    const observed = observationOf(judged.request)
    // Not by its caller: what has no answer yet would look as if that had left.
    if (observed?.isAnswered === false) observed.restFailed('token_revoked')
    response.destroy()
  }
}
