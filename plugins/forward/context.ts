import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HeaderSource, Log, Measure, OutgoingCredential, OutgoingHeaders } from 'sallyport'
import { mcpHeaders } from 'sallyport/toolkit'
import { headersFrom } from './added-headers.js'
import type { AnnouncedPaths } from './announced-paths.js'
import type { OutgoingCredentials } from './credentials.js'
import { type FlatHeaders, RequestRules } from './headers.js'
import type { Target } from './target.js'
import { endWithToken } from './token-end.js'

export interface ForwardContextOptions {
  readonly forwardAuthorization: boolean
  readonly forwardCookies: boolean
  readonly forwardedHeaders: boolean
  readonly endStreamsWithToken: boolean
  readonly targetTimeout: number
}

/** What all requests of one forwarder share; made once, at the start. */
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
    private readonly log: Log,
  ) {
    const { forwardAuthorization, forwardCookies } = options
    this.rules = new RequestRules(target.host, [
      ...(forwardAuthorization ? [] : ['authorization']),
      ...(forwardCookies ? [] : ['cookie']),
      ...sources.flatMap(({ names }) => names),
    ])
    this.logsRequests = log.isLevelEnabled('debug')
  }

  headersFor(request: FastifyRequest, credential: OutgoingCredential | undefined): FlatHeaders {
    return this.rules.apply(request.raw, credential, this.addedHeaders(request))
  }

  /** Complete once the body has ended. */
  trailersFor(request: FastifyRequest, credential: OutgoingCredential | undefined): FlatHeaders {
    return this.rules.applyToTrailers(request.raw, credential)
  }

  /** Milliseconds; 0 for an event stream, which may be silent for any time, also before its first byte. */
  timeoutFor({ method, headers }: FastifyRequest): number {
    const isEventStream = method === 'GET' && headers.accept?.includes('text/event-stream') === true
    return isEventStream ? 0 : this.options.targetTimeout
  }

  /** The caller was authenticated when its request came. A stream may outlast its token. */
  limitStream(reply: FastifyReply): void {
    if (this.options.endStreamsWithToken) endWithToken(reply)
  }

  count(outcome: string, request: FastifyRequest): void {
    const { 'mcp-method': method } = request.headers
    this.measure(1, { outcome, mcp_method: method === undefined ? 'none' : knownMethod(method) })
    if (!this.logsRequests) return
    request.log.debug({ outcome, ...mcpHeaders(request.headers) }, 'the target responded')
  }

  private addedHeaders(request: FastifyRequest): OutgoingHeaders {
    const { sources, options } = this
    if (sources.length === 0 && !options.forwardedHeaders) return NO_HEADERS
    if (sources.length === 1 && sources[0] !== undefined && !options.forwardedHeaders)
      return headersFrom(sources[0], request)
    const addedHeaders = sources.flatMap((source) => headersFrom(source, request))
    return options.forwardedHeaders ? [...addedHeaders, ...forwarded(request)] : addedHeaders
  }
}

const NO_HEADERS: OutgoingHeaders = []

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
const METHODS = new Set([
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/read',
  'resources/templates/list',
  'resources/subscribe',
  'resources/unsubscribe',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'logging/setLevel',
  'subscriptions/listen',
])

const knownMethod = (method: string | readonly string[]): string =>
  typeof method === 'string' && METHODS.has(method) ? method : 'other'
