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

const TELL = 'If this happens again, contact the operator of this registry.'

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
      advice: TELL,
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
      ? 'You may try again, or ask whether this account may use the registry.'
      : `You may try again. ${TELL}`,
    ...(busy && { retryAfter: 5 }),
  }
}

function refusedByEndpoint(answer: ResponseBodyError, issuer: string): Failure {
  const { error, error_description: description, status } = answer
  if (status >= 500) return unavailable(issuer, `it responded ${status}: ${plainCode(error)}`)
  return {
    status: 502,
    code: 'sign_in_failed',
    sentence: `${issuer} gave no token: ${plainCode(error)}`,
    advice:
      error === 'invalid_client' || error === 'unauthorized_client'
        ? 'The operator of this registry should check clientId, its secret, and how the client is registered there.'
        : `You may try again. ${TELL}`,
    cause: description && plainWords(description),
  }
}

const unavailable = (issuer: string, cause: string): Failure => ({
  status: 503,
  code: 'sign_in_unavailable',
  sentence: `${issuer} cannot be reached right now`,
  advice: `Try again in a moment. ${TELL}`,
  retryAfter: 5,
  cause,
})

/** Too many callbacks are being redeemed at the issuer at once. */
export const busy = (issuer: string): Failure => ({
  status: 503,
  code: 'sign_in_busy',
  sentence: `too many people are signing in at ${issuer} right now`,
  advice: `Load this page again in a moment. ${TELL}`,
  retryAfter: 1,
})

/** A callback that does not fit: from another issuer, with another nonce, for another client, or without an answer. */
const mixedUp = (issuer: string, found: readonly Error[]): Failure => ({
  status: 502,
  code: 'sign_in_mixed_up',
  sentence: `the answer is none of ${issuer} to this sign-in`,
  advice: `You may try again. ${TELL}`,
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

export const refusedToken = (status: number, code: string, issuer: string): Failure => ({
  status: status === 503 ? 503 : 403,
  code: 'token_refused',
  sentence: `${issuer} signed you in, but the registry does not accept the token that it gave: ${plainCode(code)}`,
  advice: ADVICE[code] ?? ADVICE['invalid_token'] ?? TELL,
  ...(status === 503 && { retryAfter: 5 }),
})

const ADVICE: Readonly<Record<string, string>> = {
  invalid_token:
    'The operator of this registry finds the cause in its log. Often the issuer has to be told to give this client tokens for the audience of the registry.',
  insufficient_scope:
    'The token lacks a scope that the registry needs. The operator of this registry adds it to the scopes of signIn, and allows it to the client at the issuer.',
  authentication_unavailable: 'The token cannot be checked right now. Try again in a moment.',
  authentication_busy: 'Too many tokens are being checked right now. Try again in a moment.',
}

export const tooLarge = (issuer: string): Failure => ({
  status: 502,
  code: 'session_too_large',
  sentence: `the tokens of ${issuer} are too large for cookies`,
  advice: 'The operator of this registry asks for fewer claims or groups in the token, or for fewer scopes.',
})
