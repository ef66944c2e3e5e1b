import type { IncomingMessage } from 'node:http'
import type { OutgoingCredential, OutgoingHeaders } from 'sallyport'
import { connectionOptions, type FlatHeaders, FRAMING, HOP_BY_HOP, isOwnCookie } from 'sallyport/toolkit'

// A caller can write anything into `Forwarded`, and its credentials for a proxy are not for the target.
const NEVER_SENT = [...HOP_BY_HOP, 'http2-settings', 'proxy-authorization', 'forwarded']

/** Decides which headers of a caller reach the target, and in which form; made once. */
export class RequestRules {
  private readonly dropped: ReadonlySet<string>

  constructor(
    private readonly host: string,
    dropped: Iterable<string>,
  ) {
    this.dropped = new Set([...NEVER_SENT, ...dropped].map((name) => normalized(name.toLowerCase())))
  }

  /** The headers to send. Added ones come last, and the caller's own of the same names are dropped. */
  apply(
    request: IncomingMessage,
    credential: OutgoingCredential | undefined,
    added: OutgoingHeaders,
    length?: number,
  ): FlatHeaders {
    const { rawHeaders, headers } = request
    const named = connectionOptions(headers.connection)
    const replaced = nameOf(credential)
    const sent: FlatHeaders = []
    let host = false
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const name = rawHeaders[index] ?? ''
      const lower = name.toLowerCase()
      if (lower === 'host') {
        if (!host) sent.push(name, this.host)
        host = true
      } else if (lower === 'transfer-encoding') {
        sent.push(name, 'chunked')
      } else if (lower === 'content-length' && length !== undefined) {
        const value = rawHeaders[index + 1] ?? ''
        sent.push(name, Number(value) === length ? value : String(length))
      } else if (lower === 'cookie' && this.passes(lower, replaced, named)) {
        const cookies = foreignCookies(rawHeaders[index + 1] ?? '')
        if (cookies !== '') sent.push(name, cookies)
      } else if (lower === 'expect' && headers.expect === undefined) {
        // Dropped: the gateway has already requested the body.
      } else if (this.passes(lower, replaced, named)) {
        sent.push(name, rawHeaders[index + 1] ?? '')
      }
    }
    if (!host) sent.push('Host', this.host)
    if (credential !== undefined) sent.push(credential.header, credential.value)
    for (const [name, value] of added) sent.push(name, value)
    return sent
  }

  /** The trailers to send. Some servers treat them as headers, so the same names are dropped. */
  applyToTrailers(
    // A dispatched request has no `rawTrailers`, despite Node's types.
    { rawTrailers = [] }: { readonly rawTrailers?: readonly string[] | undefined },
    credential: OutgoingCredential | undefined,
  ): FlatHeaders {
    const replaced = nameOf(credential)
    const sent: FlatHeaders = []
    for (let index = 0; index < rawTrailers.length; index += 2) {
      const name = rawTrailers[index] ?? ''
      const lower = name.toLowerCase()
      if (!FRAMING.has(lower) && this.passes(lower, replaced, undefined))
        sent.push(name, rawTrailers[index + 1] ?? '')
    }
    return sent
  }

  /** `replaced` is the name of the credential's header, `named` the names in `Connection`. */
  private passes(
    lower: string,
    replaced: string | undefined,
    named: ReadonlySet<string> | undefined,
  ): boolean {
    const name = normalized(lower)
    if (this.dropped.has(name) || name.startsWith('x-forwarded-')) return false
    // A credential replaces the caller's own, in whichever header.
    if (replaced !== undefined && (name === replaced || name === 'authorization')) return false
    if (FRAMING.has(name)) return name === lower
    return named === undefined || !named.has(lower)
  }
}

// Without the gateway's own cookies: the target could use them for the session of a person.
function foreignCookies(header: string): string {
  const pairs = header.split(';')
  const foreign = pairs.filter((pair) => !isOwnCookie(pair))
  return foreign.length === pairs.length ? header : foreign.join(';').trimStart()
}

const nameOf = (credential: OutgoingCredential | undefined): string | undefined =>
  credential && normalized(credential.header.toLowerCase())

/** The name as CGI and its successors read it: to them `X_Tenant` and `X-Tenant` are the same. */
const normalized = (lower: string): string => (lower.includes('_') ? lower.replaceAll('_', '-') : lower)
