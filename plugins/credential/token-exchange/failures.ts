import { failureCode, type GatewayError, Refusal, UpstreamError } from 'sallyport'

/** Why no token came of an exchange. */
export interface Failure {
  /** `refused`: it does not take this subject. `unavailable`: nobody can say. `misconfigured`: what is set here is wrong. */
  readonly kind: 'refused' | 'unavailable' | 'misconfigured'
  /** A class for log and metrics; nothing of what the endpoint wrote. */
  readonly cause: string
  readonly detail: string
  readonly retryAfter?: number
}

/** What goes wrong between the question and the token. */
export class ExchangeFailure extends Error {
  constructor(readonly failure: Failure) {
    super(failure.detail)
  }
}

const RETRY_AFTER = 5
const LONGEST_RETRY = 300

// What the operator set up, and no other token of the caller would change.
const OPERATORS: Readonly<Record<string, string>> = {
  invalid_client: 'it does not know this client, or not by this secret',
  unauthorized_client: 'it does not let this client exchange tokens',
  unsupported_grant_type: 'it does not know this grant',
  invalid_scope: 'it does not give these scopes',
  invalid_target: 'it issues no token for this audience or resource',
}
const CALLERS = new Set([
  'invalid_grant',
  'invalid_request',
  'invalid_token',
  'access_denied',
  'interaction_required',
  'consent_required',
  'login_required',
])
const PASSING = new Set(['temporarily_unavailable', 'server_error', 'slow_down'])

/** Reads an error answer (RFC 6749, 5.2, and RFC 8693, 2.2.2). Only what it classes as is kept, since its text may quote tokens. */
export function failureOf(status: number, error: unknown, retryAfter: string | null): Failure {
  const code = typeof error === 'string' ? error : ''
  if (status >= 500 || status === 429 || status === 408 || PASSING.has(code)) {
    return {
      kind: 'unavailable',
      cause: 'failed',
      detail: `it failed with status ${status}`,
      retryAfter: secondsOf(retryAfter),
    }
  }
  const fault = OPERATORS[code] ?? (code === '' && status === 401 ? OPERATORS['invalid_client'] : undefined)
  if (fault !== undefined) {
    const cause = code === '' ? 'invalid_client' : code
    return { kind: 'misconfigured', cause, detail: `${cause}: ${fault}` }
  }
  if (status < 400 || code === '') return malformed(`status ${status} without an error code`)
  const cause = CALLERS.has(code) ? code : 'other'
  return { kind: 'refused', cause, detail: `it refused the subject: ${cause}` }
}

export const malformed = (detail: string): Failure => ({ kind: 'misconfigured', cause: 'malformed', detail })

const OURS = new Set([
  'EGRESS_PRIVATE_ADDRESS',
  'EGRESS_INSECURE',
  'EGRESS_URL_INVALID',
  'EGRESS_REDIRECT',
  'EGRESS_MALFORMED',
  'EGRESS_TOO_LARGE',
])

/** An endpoint that gave no answer, or none that may be read. */
export function unanswered(error: unknown): Failure {
  const cause = error instanceof UpstreamError ? error.code : failureCode(error)
  const detail = error instanceof UpstreamError ? error.message : 'the request failed'
  return { kind: OURS.has(cause) ? 'misconfigured' : 'unavailable', cause: causeOf(cause), detail }
}

const causeOf = (code: string): string => code.toLowerCase().replace('egress_', '')

// A moment of the provider's own choosing, but within reason.
function secondsOf(retryAfter: string | null): number {
  const seconds = /^\d{1,9}$/.test(retryAfter ?? '') ? Number(retryAfter) : RETRY_AFTER
  return Math.min(Math.max(seconds, 1), LONGEST_RETRY)
}

/** What a caller hears of it: whose turn it is, and nothing of the endpoint. */
export function answerTo({ kind, cause, detail, retryAfter }: Failure, provider: string): GatewayError {
  if (kind === 'refused') {
    return new Refusal(401, 'INVALID_TOKEN', 'the token was not accepted for what is behind this gateway', {
      reasons: [{ provider, cause: `exchange:${cause}`, detail }],
    })
  }
  const because = new Error(`${provider}: ${detail}`)
  if (kind === 'misconfigured') {
    return new UpstreamError('EXCHANGE_FAILED', 'no token for the target could be had', { cause: because })
  }
  return new UpstreamError('EXCHANGE_UNAVAILABLE', 'no token for the target can be had right now', {
    statusCode: 503,
    retryAfter: retryAfter ?? RETRY_AFTER,
    cause: because,
  })
}
