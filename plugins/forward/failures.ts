import type { FastifyRequest } from 'fastify'
import { type ErrorShape, GatewayError, UpstreamError } from 'sallyport'
import { failureCode, idTextIn, messageRead, needsText, replyId } from 'sallyport/toolkit'

type Failure = readonly [sentence: string, statusCode?: 504]

const MESSAGES: Readonly<Record<string, Failure>> = {
  REFUSED: ['nothing listens where the target is expected'],
  DNS: ["the target's name does not resolve"],
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
  const [sentence, statusCode = 502] = MESSAGES[kind] ?? UNKNOWN
  const known = kind in MESSAGES ? kind : 'FAILED'
  return new UpstreamError(`TARGET_${known}`, sentence, { statusCode, cause: error })
}

/** The error for a target that did not begin its response in time. */
export function responseTimeout(): GatewayError {
  return targetFailure(Object.assign(new Error('no response'), { code: 'UND_ERR_HEADERS_TIMEOUT' }))
}

// JSON-RPC leaves -32000 to -32099 to servers, and the SDKs take -32000 for a failed transport.
const SERVER_ERROR = -32_000

const ERRORS: Readonly<Record<string, number>> = {
  too_many_requests: 429,
  message_not_json: -32_700,
  message_encoding: -32_700,
  message_content_type: -32_600,
  message_malformed: -32_600,
  message_ambiguous: -32_600,
  message_too_large: -32_600,
  message_unnamed: -32_602,
  // As the protocol has it from 2026-07-28 on.
  message_header_mismatch: -32_020,
}

/** MCP clients match a response to its request by the id, so an error for a POST carries it. */
export const jsonRpcErrors: ErrorShape = ({ code, sentence, requestId }, request) => {
  if (request.method !== 'POST') {
    return { error: code, error_description: sentence, request_id: requestId }
  }
  return {
    jsonrpc: '2.0',
    id: idOf(request),
    error: {
      code: ERRORS[code] ?? SERVER_ERROR,
      message: sentence,
      data: { error: code, request_id: requestId },
    },
  }
}

/** The answer to the one call of a request whose events cannot go on, as an event; `undefined` without such a call. */
export function failureEvent(error: unknown, request: FastifyRequest): Buffer | undefined {
  if (request.method !== 'POST' || idOf(request) === null) return undefined
  const { code, message, statusCode: status } = targetFailure(error)
  const told = { status, code: code.toLowerCase(), sentence: message, requestId: request.id }
  return Buffer.from(`data: ${JSON.stringify(jsonRpcErrors(told, request))}\n\n`)
}

// Parsing blocks the event loop: a body of this length takes well under a millisecond.
const MAX_PARSED = 64 * 1024

function idOf(request: FastifyRequest): unknown {
  const message = messageRead(request)
  if (message === undefined) return idIn(request.body)
  return message.isBatch ? null : replyId(message.calls[0] ?? {})
}

/** Parsed only for an error; a batch has no id of its own, and a large body is not parsed. */
function idIn(body: unknown): unknown {
  if (!Buffer.isBuffer(body) || body.length > MAX_PARSED) return null
  const text = body.toString()
  try {
    const { id }: { id?: unknown } = JSON.parse(text) ?? {}
    const idText = needsText(id) ? idTextIn(text) : undefined
    return typeof id === 'string' || typeof id === 'number'
      ? replyId({ id, ...(idText !== undefined && { idText }) })
      : null
  } catch {
    return null
  }
}

export const foreignRedirect = (status: number): UpstreamError =>
  new UpstreamError('TARGET_REDIRECT', `the target redirects (${status}) to where this request must not go`)

export const notRepeatable = (): UpstreamError =>
  new UpstreamError('BODY_NOT_REPEATABLE', 'the body was not kept, so it cannot be sent again', {
    statusCode: 503,
    retryAfter: 1,
  })

export const credentialRefused = (): UpstreamError =>
  new UpstreamError('CREDENTIAL_REFUSED', 'the target does not accept the credential of this gateway')
