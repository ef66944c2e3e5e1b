import { jsonObject } from 'sallyport'
import { ExchangeFailure, failureOf, malformed } from './failures.js'
import { type ExchangeOptions, nameOf, type ResponseField } from './options.js'
import { ACCESS_TOKEN, JWT } from './token-type.js'

export interface NewToken {
  readonly token: string
  /** Seconds from the question on; nothing when the answer does not say. */
  readonly lifetime: number | undefined
}

// It becomes part of a header: a line break would begin another one.
const TOKEN = /^[\x21-\x7e]+$/

/** Reads the answer to an exchange (RFC 8693, 2.2), and throws an `ExchangeFailure` for all but a token of the kind that was asked for. */
export async function newTokenIn(response: Response, options: ExchangeOptions): Promise<NewToken> {
  const { status, headers } = response
  const isJson = /^application\/json\s*(?:;|$)/i.test(headers.get('content-type') ?? '')
  const fields = isJson ? jsonObject(await response.text()) : undefined
  if (status !== 200) {
    throw new ExchangeFailure(failureOf(status, fields?.['error'], headers.get('retry-after')))
  }
  if (fields === undefined) throw wrong('the answer is not a JSON object')
  const value = (field: ResponseField): unknown => fields[nameOf(field, options.responseNames) ?? '']
  const told = (field: ResponseField): boolean => nameOf(field, options.responseNames) !== undefined

  const token = value('access_token')
  if (typeof token !== 'string' || !TOKEN.test(token)) throw wrong('the answer holds no token')
  if (told('token_type')) checkTokenType(value('token_type'), options)
  if (told('issued_token_type')) checkIssuedType(value('issued_token_type'), options)
  return { token, lifetime: told('expires_in') ? lifetimeIn(value('expires_in')) : undefined }
}

// Another kind needs a proof that nobody here could give: `N_A` is for no resource at all, `DPoP` for a key.
function checkTokenType(type: unknown, { tokenType }: ExchangeOptions): void {
  if (typeof type === 'string' && type.toLowerCase() === tokenType.toLowerCase()) return
  throw wrong(`the new token is of another token_type than ${tokenType}`)
}

// An ID token or a refresh token is not the target's to see.
function checkIssuedType(
  type: unknown,
  { requestedTokenType: wanted = ACCESS_TOKEN }: ExchangeOptions,
): void {
  if (type === wanted || (type === JWT && wanted === ACCESS_TOKEN)) return
  throw wrong(`issued_token_type is not ${wanted}`)
}

function lifetimeIn(written: unknown): number | undefined {
  if (written === undefined) return undefined
  // Some write the number as a string.
  const seconds = typeof written === 'string' && /^\d{1,15}$/.test(written) ? Number(written) : written
  if (typeof seconds === 'number' && Number.isFinite(seconds) && seconds >= 0) return seconds
  throw wrong('expires_in is not a number of seconds')
}

const wrong = (detail: string): ExchangeFailure => new ExchangeFailure(malformed(detail))
