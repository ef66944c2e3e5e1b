import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HeaderSource, Log, Measure, OutgoingCredential, OutgoingHeaders } from 'sallyport'
import {
  LogThrottle,
  MCP_METHODS,
  METHOD_FOR,
  mcpHeaders,
  messageRead,
  observationOf,
} from 'sallyport/toolkit'
import { headersFrom } from './added-headers.js'
import type { AnnouncedPaths } from './announced-paths.js'
import type { OutgoingCredentials } from './credentials.js'
import { failureEvent, targetFailure } from './failures.js'
import { FilteredBody } from './filtered-body.js'
import { FilteredEvents } from './filtered-events.js'
import { type FlatHeaders, joinedValues, RequestRules } from './headers.js'
import type { ListFilter } from './list-filter.js'
import { observing } from './observed-calls.js'
import { isEventStream, type ResponseSink, ResponseWriter } from './response-writer.js'
import type { Target } from './target.js'
import { endWithToken } from './token-end.js'
import type { ResponseHandler, ResponseHead } from './transport.js'
import { UnreadResponse } from './unread-response.js'

export interface ForwardContextOptions {
  readonly forwardAuthorization: boolean
  readonly forwardCookies: boolean
  readonly forwardedHeaders: boolean
  readonly endStreamsWithToken: boolean
  readonly targetTimeout: number
  /** Tracers say what the target gets of a trace. */
  readonly traced: boolean
}

/** What all requests of one forwarder share; made once, at the start. */
export class ForwardContext {
  private readonly rules: RequestRules
  private readonly logsRequests: boolean
  private readonly throttle: LogThrottle

  constructor(
    readonly target: Target,
    readonly announced: AnnouncedPaths,
    readonly credentials: OutgoingCredentials,
    private readonly sources: readonly HeaderSource[],
    private readonly options: ForwardContextOptions,
    private readonly measure: Measure,
    private readonly log: Log,
    /** Where the scope has policies. */
    private readonly lists: ListFilter | undefined,
  ) {
    const { forwardAuthorization, forwardCookies } = options
    this.rules = new RequestRules(target.host, [
      ...(forwardAuthorization ? [] : ['authorization']),
      ...(forwardCookies ? [] : ['cookie']),
      ...sources.flatMap(({ names }) => names),
      ...(lists === undefined ? [] : FOR_PARTS_AND_CODINGS),
      ...(options.traced ? TRACE_CONTEXT : []),
    ])
    this.logsRequests = log.isLevelEnabled('debug')
    this.throttle = new LogThrottle(log)
  }

  /** The headers of a response that are about the gateway's own credential, and not for the caller. */
  omittedFor(credential: OutgoingCredential | undefined): ReadonlySet<string> | undefined {
    if (credential === undefined) return undefined
    return this.options.forwardCookies ? CHALLENGE : CHALLENGE_AND_SESSION
  }

  /** For a body of so many bytes, where it was read. */
  headersFor(
    request: FastifyRequest,
    credential: OutgoingCredential | undefined,
    length: number | undefined,
  ): FlatHeaders {
    const headers = this.rules.apply(request.raw, credential, this.addedHeaders(request), length)
    if (this.lists !== undefined) headers.push('Accept-Encoding', 'identity')
    return headers
  }

  /** Complete once the body has ended. */
  trailersFor(request: FastifyRequest, credential: OutgoingCredential | undefined): FlatHeaders {
    return this.rules.applyToTrailers(request.raw, credential)
  }

  /** Milliseconds; 0 for an event stream, which may be silent for any time, also before its first byte. */
  timeoutFor(request: FastifyRequest): number {
    return asksForStream(request) ? 0 : this.options.targetTimeout
  }

  /** The caller was authenticated when its request came. A stream may outlast its token. */
  limitStream(reply: FastifyReply): void {
    if (this.options.endStreamsWithToken) endWithToken(reply)
  }

  /** Writes the response to a request, after it was looked through for lists where the scope has policies. */
  writerFor(
    head: ResponseHead,
    reply: FastifyReply,
    credential: OutgoingCredential | undefined,
    handler: ResponseHandler,
  ): ResponseSink {
    const { lists } = this
    const writer = new ResponseWriter(reply, this.omittedFor(credential))
    const { request } = reply
    if (lists === undefined || isForOneCall(head, request)) return observing(writer, head, request)
    const fail = (error: unknown): void => {
      this.logEndOf(reply, error)
      handler.onError(error)
    }
    const unread = new UnreadResponse(writer, lists.budget, lists.readTimeout, fail)
    const Filtered = isEventStream(head) ? FilteredEvents : FilteredBody
    const caller = { identity: request.identity, request }
    const filtered = new Filtered(unread, lists, caller, fail, (error) => failureEvent(error, request))
    // What the target answered, and the names of all its tools.
    return observing(filtered, head, request)
  }

  /** A response that has begun is cut off: no error reply, nor its line in the log, tells why. */
  private logEndOf({ raw, request }: FastifyReply, error: unknown): void {
    if (!raw.headersSent || raw.destroyed) return
    const common = { code: targetFailure(error).code, route: request.routeOptions.url }
    this.throttle.write(request.log, 'error', 'a response was cut off', common, { err: error })
  }

  count(outcome: string, request: FastifyRequest): void {
    const { 'mcp-method': method } = request.headers
    this.measure(1, { outcome, mcp_method: method === undefined ? 'none' : knownMethod(method) })
    if (!this.logsRequests) return
    request.log.debug({ outcome, ...mcpHeaders(request.headers) }, 'the target responded')
  }

  private addedHeaders(request: FastifyRequest): OutgoingHeaders {
    const added = this.headersOfSources(request)
    const traced = this.options.traced ? observationOf(request)?.traceHeaders : undefined
    return traced === undefined ? added : [...added, ...traced]
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

/**
 * A response in plain JSON belongs to its request alone, and one that uses a tool, a prompt or a resource by its name asked
 * for no list. The events of a stream may belong to others.
 */
function isForOneCall({ headers }: ResponseHead, request: FastifyRequest): boolean {
  const message = messageRead(request)
  if (message === undefined || message.isBatch) return false
  const [call] = message.calls
  if (call?.kind !== 'request' || !USES.has(call.method)) return false
  // Since 2026-07-28, which has these headers, it says who may be served it from a cache.
  if (call.method === METHOD_FOR.resource && mcpHeaders(request.headers).mcpMethod !== undefined) return false
  return PLAIN_JSON.test(joinedValues(headers, 'content-type') ?? '')
}

const USES: ReadonlySet<string> = new Set(Object.values(METHOD_FOR))

// Clients look for the type of event streams anywhere in the header.
const PLAIN_JSON = /^application\/json(?:; ?charset=utf-8)?$/i

// The caller cannot meet the challenge.
const CHALLENGE: ReadonlySet<string> = new Set(['www-authenticate'])
// A session that the target begins for the credential would open it to who reaches the target directly.
const CHALLENGE_AND_SESSION: ReadonlySet<string> = new Set([...CHALLENGE, 'set-cookie'])

const TRACE_CONTEXT = ['traceparent', 'tracestate']

// A response can only be looked through when it is whole, and in no coding.
const FOR_PARTS_AND_CODINGS = [
  'accept-encoding',
  'a-im',
  'range',
  'if-range',
  'if-none-match',
  'if-modified-since',
]

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

/** Its client may read an event stream whatever type the response has. */
export const asksForStream = ({ method, headers }: FastifyRequest): boolean =>
  method === 'GET' && headers.accept?.includes('text/event-stream') === true
