import { Refusal } from 'sallyport'

/** reply-from has no other error without a cause. */
export const unknownStatus = (): Error =>
  Object.assign(new Error('the status is beyond 599'), { code: 'HPE_INVALID_STATUS' })

/** Nobody could send the request. */
export const NOT_SENT = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
])

export const unsupportedPath = (): Refusal => unsupported('this path cannot be forwarded to replicas')

export const unsupported = (sentence: string): Refusal => new Refusal(501, 'REQUEST_UNSUPPORTED', sentence)
