import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { timesSent } from './raw-headers.js'

/** What a caller presented: nothing, one well-formed bearer token, or anything else. */
export type Credentials = { readonly kind: 'none' } | { readonly kind: 'malformed' } | BearerToken

/** One well-formed bearer token. */
export class BearerToken {
  readonly kind = 'bearer'
  private made: string | undefined

  constructor(readonly token: string) {}

  /** The key of what is remembered about the token: nobody can make the token of it. */
  get digest(): string {
    this.made ??= digestOf(this.token)
    return this.made
  }
}

export const digestOf = (token: string): string => hash('sha256', token, 'base64url')

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
  if (authorization.length > LONGEST_HEADER || timesSent(rawHeaders, 'authorization') > 1) return MALFORMED
  const token = BEARER.exec(authorization)?.[1]
  return token === undefined ? MALFORMED : new BearerToken(token)
}

const LATEST = Symbol('latest')

/** A connection, and the token that came on it last. */
interface Connection {
  [LATEST]?: { readonly authorization: string; readonly bearer: BearerToken } | undefined
}

/** The same for a request: who keeps a connection sends one token again and again, and it is read once. */
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
