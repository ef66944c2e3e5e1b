import type { IncomingMessage } from 'node:http'

/** What a caller presented: nothing, one well-formed bearer token, or anything else. */
export type Credentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'bearer'; readonly token: string }

const NONE: Credentials = { kind: 'none' }
const MALFORMED: Credentials = { kind: 'malformed' }

// One space and RFC 6750's b64token, in a scheme of any case (RFC 9110, 11.1).
const BEARER = /^bearer ([\w.~+/-]+=*)$/i
const LONGEST_HEADER = 16 * 1024

/** The one reading of the `Authorization` header. Tokens in a query or a form are never looked for. */
export function credentialsOf({
  headers,
  rawHeaders,
}: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): Credentials {
  const { authorization } = headers
  if (authorization === undefined) return NONE
  if (authorization.length > LONGEST_HEADER || repeated(rawHeaders)) return MALFORMED
  const token = BEARER.exec(authorization)?.[1]
  return token === undefined ? MALFORMED : { kind: 'bearer', token }
}

/** Node keeps the first of several `Authorization` headers and says nothing of the others. */
function repeated(rawHeaders: readonly string[]): boolean {
  let seen = false
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length !== 13 || name.toLowerCase() !== 'authorization') continue
    if (seen) return true
    seen = true
  }
  return false
}
