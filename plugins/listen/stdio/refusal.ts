import { jsonObject } from 'sallyport/toolkit'
import { fieldsOf } from './messages.js'
import { unavailable } from './transport.js'

interface JsonRpcError {
  readonly code: number
  readonly message: string
}

/**
 * The error of a JSON-RPC response, whatever its HTTP status. The gateway and most targets send errors in this form.
 */
export function errorIn(body: Buffer | undefined): JsonRpcError | undefined {
  const error = fieldsOf(jsonObject(body?.toString() ?? '')?.['error'])
  const { code, message } = error
  return typeof code === 'number' && typeof message === 'string' ? { ...error, code, message } : undefined
}

/**
 * Whether a response says that the target does not know the session: by 404, or by 400 and these words, as in the
 * examples of the official SDKs.
 */
export const isSessionUnknown = (status: number, body: Buffer | undefined): boolean =>
  status === 404 || (status === 400 && /\bno valid session\b/i.test(body?.toString('utf8', 0, 1_000) ?? ''))

/** The error for the client. On a 401 it adds the flags that help, which the target cannot know. */
export function refusalError(status: number, error: JsonRpcError | undefined): JsonRpcError {
  if (error === undefined) return unavailable(statusMessage(status))
  return status === 401 ? { ...error, message: `${error.message}; ${statusMessage(status)}` } : error
}

function statusMessage(status: number): string {
  if (status === 401 || status === 403)
    return `the target needs another credential (${status}): see --remote-auth and --remote-auth-bearer-token-file`
  if (status >= 300 && status < 400)
    return `the target redirects to another address (${status}): give that address as --target-uri`
  return `the target responded with ${status}`
}
