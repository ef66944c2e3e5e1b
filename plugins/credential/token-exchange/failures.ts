import { type GatewayError, Refusal, UpstreamError } from 'sallyport'
import { failureCode, type JsonObject, plainWords } from 'sallyport/toolkit'

/** Why an exchange failed. */
export interface Failure {
  /**
   * `refused`: the subject is not accepted. `unavailable`: a retry may succeed. `misconfigured`: an option is wrong.
   */
  readonly kind: 'refused' | 'unavailable' | 'misconfigured'
  /** A class for metrics, without any text of the endpoint. */
  readonly cause: string
  readonly detail: string
  readonly retryAfter?: number
}

export class ExchangeFailure extends Error {
  constructor(readonly failure: Failure) {
    super(failure.detail)
  }
}

const RETRY_AFTER = 5
const MAX_RETRY_AFTER = 300

// These are about options: the endpoint would refuse any other token of the caller too.
const OPERATOR_ERRORS: Readonly<Record<string, string>> = {
  invalid_client: 'the client is unknown, or its secret is wrong',
  // Keycloak sends this for a wrong secret too.
  unauthorized_client: 'this client may not exchange tokens, or its secret is wrong',
  unsupported_grant_type: 'the endpoint does not support this grant',
  invalid_scope: 'the endpoint does not grant these scopes',
  invalid_target: 'the endpoint issues no tokens for this audience or resource',
}
const CALLER_ERRORS = new Set([
  'invalid_grant',
  'invalid_request',
  'invalid_token',
  'access_denied',
  'interaction_required',
  'consent_required',
  'login_required',
])
const TRANSIENT_ERRORS = new Set(['temporarily_unavailable', 'server_error', 'slow_down'])

// For these Keycloak sends the code of a wrong secret or a refused subject token; only its text differs.
const CODES_BY_WORDS = [
  ['Requested audience not available', 'invalid_target'],
  ['Audience not found', 'invalid_target'],
  ['Standard token exchange is not enabled', 'unauthorized_client'],
] as const

/** Classifies an error response (RFC 6749, 5.2, and RFC 8693, 2.2.2). */
export function errorResponseFailure(status: number, fields: JsonObject, retryAfter: string | null): Failure {
  const code = codeOf(fields)
  const { error_description: description } = fields
  if (status >= 500 || status === 429 || status === 408 || TRANSIENT_ERRORS.has(code)) {
    return {
      kind: 'unavailable',
      cause: 'failed',
      detail: `status ${status}`,
      retryAfter: retrySeconds(retryAfter),
    }
  }
  const fault =
    OPERATOR_ERRORS[code] ?? (code === '' && status === 401 ? OPERATOR_ERRORS['invalid_client'] : undefined)
  if (fault !== undefined) {
    const cause = code === '' ? 'invalid_client' : code
    return { kind: 'misconfigured', cause, detail: `${cause}: ${fault}${wordsOf(description)}` }
  }
  if (status < 400 || code === '') return malformed(`status ${status} without an error code`)
  const cause = CALLER_ERRORS.has(code) ? code : 'other'
  return {
    kind: 'refused',
    cause,
    detail: `the subject token was refused: ${cause}${wordsOf(description)}`,
  }
}

function codeOf({ error, error_description: words }: JsonObject): string {
  if (typeof error !== 'string') return ''
  const known = CODES_BY_WORDS.find(([start]) => typeof words === 'string' && words.startsWith(start))
  return known?.[1] ?? error
}

/** The endpoint's own description, for the log. */
const wordsOf = (text: unknown): string =>
  typeof text === 'string' && text !== '' ? ` (${plainWords(text)})` : ''

export const malformed = (detail: string): Failure => ({ kind: 'misconfigured', cause: 'malformed', detail })

const CONFIGURATION_ERRORS = new Set([
  'EGRESS_PRIVATE_ADDRESS',
  'EGRESS_INSECURE',
  'EGRESS_URL_INVALID',
  'EGRESS_REDIRECT',
  'EGRESS_MALFORMED',
  'EGRESS_TOO_LARGE',
])

/** No response, or one that must not be read. */
export function connectionFailure(error: unknown): Failure {
  const cause = error instanceof UpstreamError ? error.code : failureCode(error)
  const detail = error instanceof UpstreamError ? error.message : 'the request failed'
  return {
    kind: CONFIGURATION_ERRORS.has(cause) ? 'misconfigured' : 'unavailable',
    cause: causeClass(cause),
    detail,
  }
}

const causeClass = (code: string): string => code.toLowerCase().replace('egress_', '')

// The provider's own value, within bounds.
function retrySeconds(retryAfter: string | null): number {
  const seconds = /^\d{1,9}$/.test(retryAfter ?? '') ? Number(retryAfter) : RETRY_AFTER
  return Math.min(Math.max(seconds, 1), MAX_RETRY_AFTER)
}

/** The error for the caller, without anything about the endpoint. */
export function gatewayErrorFor(
  { kind, cause, detail, retryAfter }: Failure,
  provider: string,
): GatewayError {
  if (kind === 'refused') {
    return new Refusal(401, 'INVALID_TOKEN', 'the token was not accepted for the target of this gateway', {
      reasons: [{ provider, cause: `exchange:${cause}`, detail }],
    })
  }
  const internalCause = new Error(`${provider}: ${detail}`)
  if (kind === 'misconfigured') {
    return new UpstreamError('EXCHANGE_FAILED', 'no token for the target could be obtained', {
      cause: internalCause,
    })
  }
  return new UpstreamError('EXCHANGE_UNAVAILABLE', 'no token for the target can be obtained right now', {
    statusCode: 503,
    retryAfter: retryAfter ?? RETRY_AFTER,
    cause: internalCause,
  })
}
