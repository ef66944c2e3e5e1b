import { jsonObject } from 'sallyport/toolkit'
import { ExchangeFailure, errorResponseFailure, malformed } from './failures.js'
import { type ExchangeOptions, nameOf, type ResponseField } from './options.js'
import { ACCESS_TOKEN, JWT } from './token-type.js'

export interface NewToken {
  readonly token: string
  /** Seconds since the request; `undefined` without `expires_in`. */
  readonly lifetime: number | undefined
}

// The gateway puts the token in a header: a line break would begin another header.
const TOKEN = /^[\x21-\x7e]+$/

/**
 * Reads the response of an exchange (RFC 8693, 2.2). Throws an `ExchangeFailure` unless the response holds a token of
 * the requested type.
 */
export async function readTokenResponse(response: Response, options: ExchangeOptions): Promise<NewToken> {
  const { status, headers } = response
  const isJson = /^application\/json\s*(?:;|$)/i.test(headers.get('content-type') ?? '')
  const fields = isJson ? jsonObject(await response.text()) : undefined
  if (status !== 200) {
    throw new ExchangeFailure(errorResponseFailure(status, fields ?? {}, headers.get('retry-after')))
  }
  if (fields === undefined) throw malformedResponse('the response is not a JSON object')
  const value = (field: ResponseField): unknown => fields[nameOf(field, options.responseNames) ?? '']
  const isExpected = (field: ResponseField): boolean => nameOf(field, options.responseNames) !== undefined

  const token = value('access_token')
  if (typeof token !== 'string' || !TOKEN.test(token)) throw malformedResponse('the response holds no token')
  if (isExpected('token_type')) checkTokenType(value('token_type'), options)
  if (isExpected('issued_token_type')) checkIssuedType(value('issued_token_type'), options)
  return { token, lifetime: isExpected('expires_in') ? lifetimeIn(value('expires_in')) : undefined }
}

// Another type cannot be used here: `N_A` is for no resource, and `DPoP` needs proof of a key.
function checkTokenType(type: unknown, { tokenType }: ExchangeOptions): void {
  if (typeof type === 'string' && type.toLowerCase() === tokenType.toLowerCase()) return
  throw malformedResponse(`token_type is not ${tokenType}`)
}

// An ID token or a refresh token must not be sent to the target.
function checkIssuedType(
  type: unknown,
  { requestedTokenType: expected = ACCESS_TOKEN }: ExchangeOptions,
): void {
  if (type === expected || (type === JWT && expected === ACCESS_TOKEN)) return
  throw malformedResponse(`issued_token_type is not ${expected}`)
}

function lifetimeIn(value: unknown): number | undefined {
  if (value === undefined) return undefined
  // Some servers write the number as a string.
  const seconds = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
  if (typeof seconds === 'number' && Number.isFinite(seconds) && seconds >= 0) return seconds
  throw malformedResponse('expires_in is not a number of seconds')
}

const malformedResponse = (detail: string): ExchangeFailure => new ExchangeFailure(malformed(detail))
