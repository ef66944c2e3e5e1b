import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Revocation } from '../contract/capabilities/revocation.js'
import { Refusal } from '../contract/errors.js'
import type { Identity } from '../contract/identity.js'
import { observationOf } from '../observe/observation.js'

const ACCEPTED = Symbol('accepted')
const REVOCATION = Symbol('revocation')

/** A request whose caller may be revoked before its response is complete, with the revocation of its scope. */
interface RevocableMessage extends IncomingMessage {
  [ACCEPTED]?: FastifyRequest
  [REVOCATION]?: Revocation
}

/** Refuses a caller who was revoked, and has the request end when the caller is revoked before its response is complete. */
export function refuseRevoked(
  revocation: Revocation,
  request: FastifyRequest,
  identity: Identity,
  provider: string,
): void {
  const standing = revocation.standing(identity)
  if (standing === 'good') {
    const message: RevocableMessage = request.raw
    message[ACCEPTED] = request
    message[REVOCATION] = revocation
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

// Milliseconds. A client whose request is short gets its response, and a 401 for the next one, in place of a broken connection.
const TIME_TO_FINISH = 1_000

/** Ends the responses whose callers are revoked, such as event streams and WebSockets, which may last for days. */
export function endRevoked(open: () => readonly ServerResponse[]): void {
  setTimeout(() => open().forEach(endIfRevoked), TIME_TO_FINISH).unref()
}

function endIfRevoked(response: ServerResponse): void {
  const { [ACCEPTED]: request, [REVOCATION]: revocation }: RevocableMessage = response.req
  if (request?.identity === undefined || revocation?.standing(request.identity) !== 'revoked') return
  const observed = observationOf(request)
  // Not by its caller: what has no answer yet would look as if that had left.
  if (observed?.isAnswered === false) observed.restFailed('token_revoked')
  response.destroy()
}
