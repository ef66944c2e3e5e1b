import { GatewayError, UpstreamError } from 'sallyport'
import { failureCode } from 'sallyport/toolkit'

type Failure = readonly [message: string, statusCode?: 504]

const MESSAGES: Readonly<Record<string, Failure>> = {
  REFUSED: ['nothing listens at the address of the target'],
  DNS: ["the target's name does not resolve"],
  CLIENT_CERTIFICATE: ['the target asks for a client certificate that it accepts'],
  TLS: ['the TLS handshake with the target failed'],
  RESET: ['the target closed the connection before its response was complete'],
  UNREACHABLE: ['there is no route to the target'],
  MALFORMED: ['the target sent malformed HTTP'],
  TOO_LARGE: ["the target's headers are larger than this gateway takes"],
  PROXY: ['the outgoing proxy opened no tunnel to the target'],
  PROXY_TIMEOUT: ['the outgoing proxy did not respond in time', 504],
  TIMEOUT: ['the target did not begin its response in time', 504],
}
const UNKNOWN: Failure = ['the request to the target failed']

/** A failed request to the target, as callers and metrics see it: the class of failure, and no address. */
export function targetFailure(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  const kind = failureCode(error).replace('EGRESS_', '')
  const [message, statusCode = 502] = MESSAGES[kind] ?? UNKNOWN
  const known = kind in MESSAGES ? kind : 'FAILED'
  return new UpstreamError(`TARGET_${known}`, message, { statusCode, cause: error })
}

/** The error for a target that did not begin its response in time. */
export function responseTimeout(): GatewayError {
  return targetFailure(Object.assign(new Error('no response'), { code: 'UND_ERR_HEADERS_TIMEOUT' }))
}

export const foreignRedirect = (status: number): UpstreamError =>
  new UpstreamError(
    'TARGET_REDIRECT',
    `the target redirects (${status}) to an address that this request must not go to`,
  )

export const notRepeatable = (): UpstreamError =>
  new UpstreamError('BODY_NOT_REPEATABLE', 'the gateway did not keep the body, so it cannot send it again', {
    statusCode: 503,
    retryAfter: 1,
  })

export const credentialRefused = (): UpstreamError =>
  new UpstreamError('CREDENTIAL_REFUSED', 'the target does not accept the credential of this gateway')
