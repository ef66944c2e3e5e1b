import type { FastifyRequest } from 'fastify'
import type { Rejection } from '../contract/capabilities/authenticator.js'
import { Refusal, type RefusalReason } from '../contract/errors.js'

/** Why one authenticator did not accept a request. */
export interface AuthenticatorRejection extends RefusalReason {
  readonly kind: Rejection['kind']
}

/** What a caller is told whom no authenticator has accepted. */
export function refusalFor(
  { credentials }: FastifyRequest,
  rejections: AuthenticatorRejection[],
  unavailableStatus: 401 | 503,
): Refusal {
  const reasons = rejections.map(({ provider, cause, detail }) => ({
    provider,
    cause,
    ...(detail !== undefined && { detail }),
  }))
  if (credentials.kind === 'none')
    return new Refusal(401, 'UNAUTHORIZED', 'this needs a bearer token', { reasons })
  if (credentials.kind === 'malformed') {
    const message = 'the Authorization header is not one well-formed bearer token'
    const format = { provider: 'none', cause: 'format' }
    return new Refusal(401, 'INVALID_REQUEST', message, { reasons: [...reasons, format] })
  }
  const isUndecided = rejections.every(({ kind }) => kind !== 'invalid')
  // Our own load comes first, whatever state a provider is in.
  if (isUndecided && rejections.some(({ kind }) => kind === 'busy')) {
    const message = 'too many tokens are being checked'
    return new Refusal(503, 'AUTHENTICATION_BUSY', message, { reasons, retryAfter: 1 })
  }
  // Never `invalid_token`: a client would drop a token that is good, and could not get another one either.
  if (isUndecided && rejections.some(({ kind }) => kind === 'unavailable')) {
    const message = 'the token cannot be checked right now'
    const retry = unavailableStatus === 503 && { retryAfter: 5 }
    return new Refusal(unavailableStatus, 'AUTHENTICATION_UNAVAILABLE', message, { reasons, ...retry })
  }
  return new Refusal(401, 'INVALID_TOKEN', 'the token was not accepted', { reasons })
}
