import type { FastifyRequest } from 'fastify'
import type { HeaderSource, Held, Log, Measure, OutgoingHeaders } from 'sallyport'
import { headersOf } from './added-headers.js'
import type { Credentials } from './credentials.js'
import { type FlatHeaders, RequestRules } from './headers.js'
import type { SpentBodies } from './spent-bodies.js'
import type { Target } from './target.js'

export interface HouseOptions {
  readonly forwardAuthorization: boolean
  readonly forwardCookies: boolean
  readonly forwardedHeaders: boolean
  readonly targetTimeout: number
}

/** What every exchange of one forwarder shares, made once when the list is complete. */
export class House {
  private readonly rules: RequestRules
  private readonly wordy: boolean

  constructor(
    readonly target: Target,
    readonly credentials: Credentials,
    private readonly sources: readonly HeaderSource[],
    private readonly options: HouseOptions,
    private readonly measure: Measure,
    private readonly log: Log,
    readonly spent: SpentBodies,
  ) {
    const { forwardAuthorization, forwardCookies } = options
    this.rules = new RequestRules(target.host, [
      ...(forwardAuthorization ? [] : ['authorization']),
      ...(forwardCookies ? [] : ['cookie']),
      ...sources.flatMap(({ names }) => names),
    ])
    this.wordy = log.isLevelEnabled('debug')
  }

  headersFor(request: FastifyRequest, held: Held | undefined): FlatHeaders {
    return this.rules.apply(request.raw, held, this.added(request))
  }

  /** Once the body has ended: they come after it. */
  trailersFor(request: FastifyRequest, held: Held | undefined): FlatHeaders {
    return this.rules.applyToTrailers(request.raw, held)
  }

  /** A stream may be silent for as long as it likes, also before its first byte. */
  patienceFor({ method, headers }: FastifyRequest): number {
    const listens = method === 'GET' && headers.accept?.includes('text/event-stream') === true
    return listens ? 0 : this.options.targetTimeout
  }

  count(outcome: string, request: FastifyRequest): void {
    const { 'mcp-method': method, 'mcp-name': name } = request.headers
    this.measure(1, { outcome, mcp_method: method === undefined ? 'none' : knownMethod(method) })
    if (!this.wordy) return
    request.log.debug({ outcome, mcpMethod: plain(method), mcpName: plain(name) }, 'the target answered')
  }

  private added(request: FastifyRequest): OutgoingHeaders {
    const { sources, options } = this
    if (sources.length === 0 && !options.forwardedHeaders) return NOTHING
    if (sources.length === 1 && sources[0] !== undefined && !options.forwardedHeaders)
      return headersOf(sources[0], request)
    const added = sources.flatMap((source) => headersOf(source, request))
    return options.forwardedHeaders ? [...added, ...forwarded(request)] : added
  }
}

const NOTHING: OutgoingHeaders = []

/** Who asked, in both spellings. A caller's host may hold anything, so what is no host is left out. */
function forwarded({ ip, protocol, headers }: FastifyRequest): OutgoingHeaders {
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

// Labels come from a small set, whatever a caller writes.
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

const plain = (text: string | readonly string[] | undefined): string | undefined =>
  typeof text === 'string' && /^[\w./:-]{1,128}$/.test(text) ? text : undefined
