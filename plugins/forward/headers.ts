import type { IncomingMessage } from 'node:http'
import type { Held, OutgoingHeaders } from 'sallyport'

/** Names and values in turn, as `rawHeaders` has them: the order, the case and the repeats are kept. */
export type FlatHeaders = string[]

// RFC 9110, 7.6.1: they speak of one connection. `TE` too, and what it asks for is not ours to promise.
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'te', 'transfer-encoding', 'upgrade']

// What a caller says of the way it came is not evidence, and its word with a proxy is not the target's business.
const NEVER_SENT = [...HOP_BY_HOP, 'http2-settings', 'proxy-authorization', 'forwarded']

// They frame the message: no list in `Connection` makes them go away.
const FRAMING = new Set(['host', 'content-length', 'transfer-encoding'])

/** What happens to a caller's headers on their way out; made once. */
export class RequestRules {
  private readonly dropped: ReadonlySet<string>

  constructor(
    private readonly host: string,
    dropped: Iterable<string>,
  ) {
    this.dropped = new Set([...NEVER_SENT, ...dropped].map(asRead))
  }

  /** The headers to send. What is added stands at the end, and nothing of the caller's has the same name. */
  apply(request: IncomingMessage, held: Held | undefined, added: OutgoingHeaders): FlatHeaders {
    const { rawHeaders, headers } = request
    const named = namedIn(headers.connection)
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
      } else if (this.passes(lower, held, named)) {
        sent.push(name, rawHeaders[index + 1] ?? '')
      }
    }
    if (!host) sent.push('Host', this.host)
    if (held !== undefined) sent.push(held.header, held.value)
    for (const [name, value] of added) sent.push(name, value)
    return sent
  }

  /** The trailers to send. Some servers read them as headers, so what may not stand there may not stand here. */
  applyToTrailers({ rawTrailers }: IncomingMessage, held: Held | undefined): FlatHeaders {
    const sent: FlatHeaders = []
    for (let index = 0; index < rawTrailers.length; index += 2) {
      const name = rawTrailers[index] ?? ''
      const lower = name.toLowerCase()
      if (!FRAMING.has(lower) && this.passes(lower, held, undefined))
        sent.push(name, rawTrailers[index + 1] ?? '')
    }
    return sent
  }

  private passes(lower: string, held: Held | undefined, named: ReadonlySet<string> | undefined): boolean {
    const name = asRead(lower)
    if (this.dropped.has(name) || name.startsWith('x-forwarded-')) return false
    // A credential takes the place of the caller's own, wherever it is carried.
    if (held !== undefined && (name === asRead(held.header) || name === 'authorization')) return false
    if (FRAMING.has(name)) return name === lower
    return named === undefined || !named.has(lower)
  }
}

/** As CGI and those after it read a name, to whom `X_Tenant` and `X-Tenant` are one. */
const asRead = (lower: string): string => (lower.includes('_') ? lower.replaceAll('_', '-') : lower)

/** The target's headers as the caller gets them. `hidden` is one more name to leave out. */
export function answerHeaders(raw: readonly string[], hidden?: string): FlatHeaders {
  const named = namedIn(joinedValues(raw, 'connection'))
  const passed: FlatHeaders = []
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? ''
    const lower = name.toLowerCase()
    if (NOT_ANSWERED.has(lower) || lower === hidden) continue
    if (named?.has(lower) === true && !FRAMING.has(lower)) continue
    passed.push(name, raw[index + 1] ?? '')
  }
  return passed
}

const NOT_ANSWERED = new Set(HOP_BY_HOP)

/** The first value of a header among flat ones. */
export function firstValue(raw: readonly string[], wanted: string): string | undefined {
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]
    if (name?.length === wanted.length && name.toLowerCase() === wanted) return raw[index + 1]
  }
  return undefined
}

/** The values of a header that is a list, as one. */
function joinedValues(raw: readonly string[], wanted: string): string | undefined {
  let joined: string | undefined
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]
    if (name?.length !== wanted.length || name.toLowerCase() !== wanted) continue
    joined = joined === undefined ? raw[index + 1] : `${joined},${raw[index + 1]}`
  }
  return joined
}

/** Every value of a header among flat ones. */
export function allValues(raw: readonly string[], wanted: string): string[] {
  return raw.filter((_, index) => index % 2 === 1 && raw[index - 1]?.toLowerCase() === wanted)
}

function namedIn(connection: string | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || PLAIN.test(connection)) return undefined
  return new Set(connection.split(',').map((token) => token.trim().toLowerCase()))
}

const PLAIN = /^(?:keep-alive|close)$/i
