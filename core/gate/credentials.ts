import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { BearerToken, type Credentials } from '../contract/credentials.js'
import { timesSent } from '../http/raw-headers.js'

const NONE: Credentials = { kind: 'none' }
const MALFORMED: Credentials = { kind: 'malformed' }

// One space and RFC 6750's b64token, in a scheme of any case (RFC 9110, 11.1).
const BEARER = /^bearer ([\w.~+/-]+=*)$/i
const MAX_HEADER = 16 * 1024

/** The only parser of the `Authorization` header. Tokens in a query or a form are never accepted. */
export function credentialsOf({
  headers,
  rawHeaders,
}: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): Credentials {
  const { authorization } = headers
  if (authorization === undefined) return NONE
  if (authorization.length > MAX_HEADER || timesSent(rawHeaders, 'authorization') > 1) return MALFORMED
  const token = BEARER.exec(authorization)?.[1]
  return token === undefined ? MALFORMED : new BearerToken(token)
}

/** The credentials of a request with this bearer token; malformed for a token that no header could hold. */
export const bearerCredentials = (token: string): Credentials =>
  credentialsOf({ headers: { authorization: `Bearer ${token}` }, rawHeaders: [] })

const LATEST = Symbol('latest')

/** A connection, and the token of its latest request. */
interface Connection {
  [LATEST]?: { readonly authorization: string; readonly bearer: BearerToken } | undefined
}

/** Like `credentialsOf`, but parses and hashes a token once for each connection, since clients repeat it. */
export function credentialsFor(request: IncomingMessage): Credentials {
  const connection: Socket & Connection = request.socket
  const latest = connection[LATEST]
  const { authorization } = request.headers
  if (
    latest !== undefined &&
    latest.authorization === authorization &&
    timesSent(request.rawHeaders, 'authorization') === 1
  ) {
    return latest.bearer
  }
  const credentials = credentialsOf(request)
  if (authorization !== undefined && credentials.kind === 'bearer') {
    connection[LATEST] = { authorization, bearer: credentials }
  }
  return credentials
}
