import type { FastifyRequest } from 'fastify'
import type { Rejection } from '../contract/capabilities/authenticator.js'
import { Refusal, type RefusalReason } from '../contract/errors.js'

/** The reason why one authenticator did not accept a request. */
export interface AuthenticatorRejection extends RefusalReason {
  readonly kind: Rejection['kind']
}

/** The refusal for a caller that no authenticator has accepted. */
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
    return new Refusal(401, 'UNAUTHORIZED', 'a bearer token is required', { reasons })
  if (credentials.kind === 'malformed') {
    const message = 'the Authorization header is not one well-formed bearer token'
    const format = { provider: 'none', cause: 'format' }
    return new Refusal(401, 'INVALID_REQUEST', message, { reasons: [...reasons, format] })
  }
  const isUndecided = rejections.every(({ kind }) => kind !== 'invalid')
  // The gateway's own load comes first, whatever the state of a provider.
  if (isUndecided && rejections.some(({ kind }) => kind === 'busy')) {
    const message = 'too many tokens are being checked at this moment'
    return new Refusal(503, 'AUTHENTICATION_BUSY', message, { reasons, retryAfter: 1 })
  }
  // Never `invalid_token`: a client would drop a valid token, and could not get another one while the provider is down.
  if (isUndecided && rejections.some(({ kind }) => kind === 'unavailable')) {
    const message = 'the token cannot be checked right now'
    const retry = unavailableStatus === 503 && { retryAfter: 5 }
    return new Refusal(unavailableStatus, 'AUTHENTICATION_UNAVAILABLE', message, { reasons, ...retry })
  }
  return new Refusal(401, 'INVALID_TOKEN', 'the token was not accepted', { reasons })
}
