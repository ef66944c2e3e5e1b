import { Refusal } from 'sallyport'
import { failureCode } from 'sallyport/toolkit'

/** The one failure that reply-from tells of. */
export const unknownStatus = (): Error =>
  Object.assign(new Error('the status is beyond 599'), { code: 'HPE_INVALID_STATUS' })

/** The response has ended before the body that it announced. */
export const incomplete = (): Error =>
  Object.assign(new Error('the body is shorter than announced'), { code: 'ECONNRESET' })

/** Nobody could send the request. */
export const NOT_SENT = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
])

export const unsupportedPath = (): Refusal => unsupported('this path cannot be forwarded to replicas')

export const unsupported = (sentence: string): Refusal => new Refusal(501, 'REQUEST_UNSUPPORTED', sentence)

/** For what a replica that failed like this gets no requests; a caller must not be able to move the sessions of others. */
export function leftOutFor(error: Error, code: string): 'everything' | 'beginnings' | 'nothing' {
  // It hangs, or this one request takes long.
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return 'beginnings'
  // Servers end a connection of HTTP/2 like this after some requests. undici has no code for it.
  if (error.message.startsWith('HTTP/2: "GOAWAY" frame received with code 0')) return 'nothing'
  return NOT_CONNECTED.has(code) || NOT_CONNECTED.has(failureCode(error)) ? 'everything' : 'nothing'
}

// Without a connection, or one that was reset before the response. A tunnel that was refused is aborted by undici.
const NOT_CONNECTED = new Set([
  'EGRESS_CLIENT_CERTIFICATE',
  'EGRESS_DNS',
  'EGRESS_REFUSED',
  'EGRESS_RESET',
  'EGRESS_TIMEOUT',
  'EGRESS_TLS',
  'EGRESS_UNREACHABLE',
  'UND_ERR_ABORTED',
])
