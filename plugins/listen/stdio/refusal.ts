import { jsonObject } from 'sallyport/toolkit'
import { fieldsOf } from './messages.js'
import { unavailable } from './transport.js'

interface JsonRpcError {
  readonly code: number
  readonly message: string
}

/** The error of a JSON-RPC response, whatever its HTTP status. The gateway and most targets send them so. */
export function errorIn(body: Buffer | undefined): JsonRpcError | undefined {
  const error = fieldsOf(jsonObject(body?.toString() ?? '')?.['error'])
  const { code, message } = error
  return typeof code === 'number' && typeof message === 'string' ? { ...error, code, message } : undefined
}

/**
 * Whether a response says that the target does not know the session: with 404, or, as servers after the examples of the
 * official SDKs do, with 400 and these words.
 */
export const isSessionUnknown = (status: number, body: Buffer | undefined): boolean =>
  status === 404 || (status === 400 && /\bno valid session\b/i.test(body?.toString('utf8', 0, 1_000) ?? ''))

/** The error for the client. What a target says of a 401 cannot name the flags that help. */
export function refusalError(status: number, error: JsonRpcError | undefined): JsonRpcError {
  if (error === undefined) return unavailable(statusMessage(status))
  return status === 401 ? { ...error, message: `${error.message}; ${statusMessage(status)}` } : error
}

function statusMessage(status: number): string {
  if (status === 401 || status === 403)
    return `the target wants another credential (${status}): see --remote-auth and --remote-auth-bearer-token-file`
  if (status >= 300 && status < 400)
    return `the target redirects elsewhere (${status}): give that address as --target-uri`
  return `the target responded with ${status}`
}
