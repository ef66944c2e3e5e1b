import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  type HeaderSource,
  type Log,
  type Measure,
  type OutgoingCredential,
  type OutgoingHeaders,
  UpstreamError,
} from 'sallyport'
import {
  type FlatHeaders,
  isPromise,
  LONGEST_WAIT,
  MCP_METHODS,
  mcpHeaders,
  observationOf,
  type Passage,
  type ResponseSink,
} from 'sallyport/toolkit'
import type { AnnouncedPaths } from './announced-paths.js'
import type { OutgoingCredentials } from './credentials.js'
import { RequestRules } from './headers.js'
import type { Target } from './target.js'
import type { ResponseHandler, ResponseHead } from './transport.js'

export interface ForwardContextOptions {
  readonly forwardAuthorization: boolean
  readonly forwardCookies: boolean
  readonly forwardedHeaders: boolean
  readonly endStreamsWithToken: boolean
  readonly targetTimeout: number
}

/** The state that all requests of one forwarder share; made once, at the start. */
export class ForwardContext {
  private readonly rules: RequestRules
  private readonly logsRequests: boolean

  constructor(
    readonly target: Target,
    readonly announced: AnnouncedPaths,
    readonly credentials: OutgoingCredentials,
    private readonly sources: readonly HeaderSource[],
    private readonly options: ForwardContextOptions,
    private readonly measure: Measure,
    log: Log,
    private readonly passage: Passage,
  ) {
    const { forwardAuthorization, forwardCookies } = options
    this.rules = new RequestRules(target.host, [
      ...(forwardAuthorization ? [] : ['authorization']),
      ...(forwardCookies ? [] : ['cookie']),
      ...sources.flatMap(({ names }) => names),
      ...passage.droppedHeaders,
    ])
    this.logsRequests = log.isLevelEnabled('debug')
  }

  /** The response headers that concern the gateway's own credential, and must not reach the caller. */
  omittedFor(credential: OutgoingCredential | undefined): ReadonlySet<string> | undefined {
    if (credential === undefined) return undefined
    return this.options.forwardCookies ? CHALLENGE : CHALLENGE_AND_SESSION
  }

  /** The headers for the target. `length` is that of a body that was read. */
  headersFor(
    request: FastifyRequest,
    credential: OutgoingCredential | undefined,
    length: number | undefined,
  ): FlatHeaders {
    return this.rules.apply(request.raw, credential, this.addedHeaders(request), length)
  }

  /** The trailers for the target, complete once the body has ended. */
  trailersFor(request: FastifyRequest, credential: OutgoingCredential | undefined): FlatHeaders {
    return this.rules.applyToTrailers(request.raw, credential)
  }

  /** Milliseconds; 0 for an event stream, which may be silent for any time, also before its first byte. */
  timeoutFor(request: FastifyRequest): number {
    return asksForStream(request) ? 0 : this.options.targetTimeout
  }

  /** Ends a stream when the caller's token expires: the caller was authenticated only when its request came. */
  limitStream(reply: FastifyReply): void {
    if (this.options.endStreamsWithToken) endWithToken(reply)
  }

  /** The sink that writes a response to the caller. */
  sinkFor(
    head: ResponseHead,
    reply: FastifyReply,
    credential: OutgoingCredential | undefined,
    handler: ResponseHandler,
  ): ResponseSink {
    const onError = (error: unknown): void => handler.onError(error)
    return this.passage.respond(reply, head, { omitted: this.omittedFor(credential), onError })
  }

  count(outcome: string, request: FastifyRequest): void {
    const { 'mcp-method': method } = request.headers
    this.measure(1, { outcome, mcp_method: method === undefined ? 'none' : knownMethod(method) })
    if (!this.logsRequests) return
    request.log.debug({ outcome, ...mcpHeaders(request.headers) }, 'the target responded')
  }

  private addedHeaders(request: FastifyRequest): OutgoingHeaders {
    const added = this.headersOfSources(request)
    const own = this.passage.headersFor(request)
    return own.length === 0 ? added : [...added, ...own]
  }

  private headersOfSources(request: FastifyRequest): OutgoingHeaders {
    const { sources, options } = this
    if (sources.length === 0 && !options.forwardedHeaders) return NO_HEADERS
    if (sources.length === 1 && sources[0] !== undefined && !options.forwardedHeaders)
      return headersFrom(sources[0], request)
    const addedHeaders = sources.flatMap((source) => headersFrom(source, request))
    return options.forwardedHeaders ? [...addedHeaders, ...forwarded(request)] : addedHeaders
  }
}

const NO_HEADERS: OutgoingHeaders = []

// The challenge is for the gateway's credential, not for the caller's.
const CHALLENGE: ReadonlySet<string> = new Set(['www-authenticate'])
// A session cookie for the gateway's credential would let a caller use it at the target directly.
const CHALLENGE_AND_SESSION: ReadonlySet<string> = new Set([...CHALLENGE, 'set-cookie'])

/** The caller's address, host and protocol, in both forms. A `Host` may hold anything: an invalid one is left out. */
function forwarded({ clientAddress: ip, protocol, headers }: FastifyRequest): OutgoingHeaders {
  const host = headers.host !== undefined && HOST.test(headers.host) ? headers.host : undefined
  const node = ip.includes(':') ? `"[${ip}]"` : ip
  return [
    ['Forwarded', `for=${node}${host === undefined ? '' : `;host="${host}"`};proto=${protocol}`],
    ['X-Forwarded-For', ip],
    ...(host === undefined ? [] : ([['X-Forwarded-Host', host]] as const)),
    ['X-Forwarded-Proto', protocol],
  ]
}

const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i

// Labels outside of a fixed set would let callers create any number of time series.
const knownMethod = (method: string | readonly string[]): string =>
  typeof method === 'string' && MCP_METHODS.has(method) ? method : 'other'

/** Whether the client asks for an event stream: it may then read one, whatever the type of the response. */
export const asksForStream = ({ method, headers }: FastifyRequest): boolean =>
  method === 'GET' && headers.accept?.includes('text/event-stream') === true

/** Destroys the connection of a response when the caller's token expires, if it does. */
function endWithToken({ raw, request }: FastifyReply): void {
  const { expiresAt } = request.identity ?? {}
  if (expiresAt === undefined) return
  let timer: NodeJS.Timeout | undefined
  // A countdown, since the time of day may be set back.
  let left = expiresAt * 1000 - Date.now()
  const wait = (): void => {
    const part = Math.min(left, LONGEST_WAIT)
    left -= part
    timer = setTimeout(check, part)
  }
  const check = (): void => {
    // Not the inverse comparison: NaN has to count as expired.
    if (left > 0) {
      wait()
      return
    }
    const observed = observationOf(request)
    // Reports the expiry: otherwise calls without an answer would look as if the caller had disconnected.
    if (observed?.isAnswered === false) observed.restFailed('token_expired')
    raw.destroy()
  }
  raw.on('close', () => clearTimeout(timer))
  wait()
}

/** The headers that a source adds to a request. If it breaks its contract, the request fails and the log says why. */
function headersFrom(source: HeaderSource, request: FastifyRequest): OutgoingHeaders {
  let result: unknown
  try {
    result = source.headers(request)
  } catch (cause) {
    throw sourceFailure(source, 'failed', cause)
  }
  if (!Array.isArray(result)) {
    if (!isPromise(result)) throw sourceFailure(source, 'did not return a list')
    // An unhandled rejection would end the process.
    result.then(undefined, () => {})
    throw sourceFailure(source, 'returned a promise: headers have to be returned at once')
  }
  for (const header of result) {
    if (!isPair(header)) throw sourceFailure(source, 'returned something other than pairs of strings')
    // The caller's own header is removed only for declared names.
    if (!source.names.includes(header[0]))
      throw sourceFailure(source, 'returned a name that is not in its `names`')
  }
  return result
}

const isPair = (header: unknown): header is OutgoingHeaders[number] =>
  Array.isArray(header) && typeof header[0] === 'string' && typeof header[1] === 'string'

function sourceFailure({ names }: HeaderSource, fault: string, cause?: unknown): UpstreamError {
  const failure = new Error(`the header source of ${names.join(', ')} ${fault}`, { cause })
  return new UpstreamError('HEADERS_FAILED', 'there are no headers for the target', { cause: failure })
}
