import { AuthorizationResponseError, ResponseBodyError } from 'openid-client'
import { GatewayError, Refusal } from 'sallyport'
import { plainCode, plainText, plainWords } from 'sallyport/toolkit'

/** A failed sign-in, for a page and for the log, without any code, state or token. */
export interface Failure {
  readonly status: number
  readonly code: string
  readonly sentence: string
  /** The advice for the person. */
  readonly advice: string
  readonly retryAfter?: number | undefined
  /** The detail, for the log only. */
  readonly cause?: string | undefined
}

export const CONTACT = 'If this happens again, contact the operator of this server.'

export function failureOf(error: unknown, issuer: string): Failure {
  const found = causesOf(error)
  const answer = found.find((each) => each instanceof AuthorizationResponseError)
  if (answer !== undefined) return refusedByIssuer(answer, issuer)
  const response = found.find((each) => each instanceof ResponseBodyError)
  if (response !== undefined) return refusedByEndpoint(response, issuer)
  // The message of openid-client about an unreadable response quotes the response.
  const status = found.map(({ cause }) => cause).find(isResponse)?.status ?? 0
  if (status >= 500) return unavailable(issuer, `it responded ${status}`)
  const own = found.find((each) => each instanceof GatewayError)
  if (own !== undefined && /^EGRESS_|^DISCOVERY_FAILED$/.test(own.code))
    return unavailable(issuer, own.message)
  if (own !== undefined) {
    const { statusCode, code, message } = own
    return {
      status: statusCode === 500 ? 502 : statusCode,
      code: code.toLowerCase(),
      sentence: message,
      advice: CONTACT,
    }
  }
  return mixedUp(issuer, found)
}

/** Finds the original error, which openid-client wraps several levels deep. */
function causesOf(error: unknown): readonly Error[] {
  const found: Error[] = []
  for (let each = error; each instanceof Error && found.length < 8; each = each.cause) found.push(each)
  return found
}

const isResponse = (cause: unknown): cause is { readonly status: number } =>
  typeof cause === 'object' && cause !== null && 'status' in cause && typeof cause.status === 'number'

function refusedByIssuer(answer: AuthorizationResponseError, issuer: string): Failure {
  const { error, error_description: description } = answer
  const denied = error === 'access_denied'
  const busy = error === 'temporarily_unavailable' || error === 'server_error'
  return {
    status: denied ? 403 : busy ? 503 : 502,
    code: 'sign_in_refused',
    sentence: `${issuer} did not sign you in: ${plainText(description ?? error)} (${plainCode(error)})`,
    advice: denied
      ? 'You may try again, or ask whether this account may sign in here.'
      : `You may try again. ${CONTACT}`,
    ...(busy && { retryAfter: 5 }),
  }
}

// The last two are GitHub's.
const BAD_CLIENT: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'incorrect_client_credentials',
  'redirect_uri_mismatch',
])

function refusedByEndpoint(answer: ResponseBodyError, issuer: string): Failure {
  const { error, error_description: description, status } = answer
  if (status >= 500) return unavailable(issuer, `it responded ${status}: ${plainCode(error)}`)
  return {
    status: 502,
    code: 'sign_in_failed',
    sentence: `${issuer} gave no token: ${plainCode(error)}`,
    advice: BAD_CLIENT.has(error)
      ? 'The operator of this server should check clientId, its secret, and how the client is registered there.'
      : `You may try again. ${CONTACT}`,
    cause: description && plainWords(description),
  }
}

const unavailable = (issuer: string, cause: string): Failure => ({
  status: 503,
  code: 'sign_in_unavailable',
  sentence: `${issuer} cannot be reached right now`,
  advice: `Try again in a moment. ${CONTACT}`,
  retryAfter: 5,
  cause,
})

/** Too many callbacks are being redeemed at the issuer at once. */
export const busy = (issuer: string): Failure => ({
  status: 503,
  code: 'sign_in_busy',
  sentence: `too many people are signing in at ${issuer} right now`,
  advice: `Load this page again in a moment. ${CONTACT}`,
  retryAfter: 1,
})

/** A callback that does not fit: from another issuer, with another nonce, for another client, or without an answer. */
const mixedUp = (issuer: string, found: readonly Error[]): Failure => ({
  status: 502,
  code: 'sign_in_mixed_up',
  sentence: `the answer is none of ${issuer} to this sign-in`,
  advice: `You may try again. ${CONTACT}`,
  // Their messages are fixed, except those of syntax errors, which quote the response; their details are not logged.
  cause: found.map((each) => plainText(each instanceof SyntaxError ? each.name : each.message)).join(': '),
})

/** The sign-in began in another browser, began too long ago, or was completed before. */
export const unknownSignIn = (origin: string): Refusal =>
  new Refusal(
    400,
    'SIGN_IN_UNKNOWN',
    `this sign-in was not begun in this browser, or is over: begin it at ${origin}, with cookies allowed`,
  )
