import { METHODS, type ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { Authenticator, Credential, type Gateway, HeaderSource, Refusal } from 'sallyport'
import {
  askForBody,
  bodyKeptBy,
  bodyRead,
  isPromise,
  isUpgrade,
  jsonRpcErrors,
  networkOf,
  observationOf,
  openPassage,
  openProviders,
  type Passage,
  readBodyBy,
  requestKeyOf,
} from 'sallyport/toolkit'
import { AnnouncedPaths } from './announced-paths.js'
import { Body, type BodyFraming, type BodyLimits, bodyFraming } from './body.js'
import { BodyBudget, SlowBodies } from './body-budget.js'
import { ForwardContext } from './context.js'
import { OutgoingCredentials } from './credentials.js'
import type { ForwarderSettings } from './options.js'
import type { PlainHttpGuard } from './plain-http-guard.js'
import { ProxiedRequest } from './proxied-request.js'
import type { Target } from './target.js'
import { LARGEST_HELD, type RequestParts, type Transport } from './transport.js'

// Bodies up to this length are read whole and sent in one write.
const BUFFERED_BODY = 256 * 1024
// The most bytes of a body that are kept to send it again with a renewed credential.
const KEPT_BODY = 16 * 1024 * 1024
// The most bytes that a policy reads, whatever `maxBody` allows: parsing blocks all other requests.
const LONGEST_MESSAGE = 16 * 1024 * 1024
const NO_BODY = Buffer.alloc(0)

/** The transports to the target, one for each kind of request. */
export interface TransportChoice {
  readonly buffered: Transport
  readonly streaming: Transport
  /** Called once, in the scope of the routes. */
  register?(http: FastifyInstance): void | Promise<void>
  close(): void
}

/** Gets every request without another route, reads or streams its body, and sends it to the target. */
export class Forwarder {
  private readonly announced: AnnouncedPaths
  private readonly limits: BodyLimits
  private context: ForwardContext | undefined
  private open: ReadonlySet<string> = new Set()
  private readonly passage: Passage

  constructor(
    private readonly gateway: Gateway,
    private readonly settings: ForwarderSettings,
    private readonly target: Target,
    private readonly transports: TransportChoice,
    private readonly plainHttp: PlainHttpGuard | undefined,
  ) {
    this.announced = new AnnouncedPaths(target, gateway, settings.removedPrefix)
    this.passage = openPassage(gateway, { timeout: settings.targetTimeout })
    const maxBytes = settings.maxBody ?? Number.POSITIVE_INFINITY
    this.limits = {
      maxBytes,
      dropTimeout: settings.bodyTimeout,
      slowBodies: new SlowBodies(settings.bodyTimeout, settings.bodyRate),
      kept: new BodyBudget(settings.keptBodies),
    }
  }

  async install(): Promise<void> {
    const { gateway, target, settings } = this
    const credentials = gateway.use(Credential)
    const sources = gateway.use(HeaderSource)
    const measure = gateway.meter.counter(
      'target_answers_total',
      'Requests to the target, by class of status or of failure',
      ['outcome', 'mcp_method'],
    )
    const authenticators = gateway.use(Authenticator)
    gateway.onStart(() => {
      this.open = openProviders(authenticators())
      if (settings.forwardAuthorization && authenticators().some(({ open }) => open !== true)) {
        gateway.log.warn(
          "callers' tokens are forwarded to the target, whose operator can use them at this gateway",
        )
      }
      const outgoing = new OutgoingCredentials(credentials())
      if (outgoing.any || sources().some(({ secret }) => secret === true)) this.plainHttp?.enable()
      this.context = new ForwardContext(
        target,
        this.announced,
        outgoing,
        sources(),
        settings,
        measure,
        gateway.log,
        this.passage,
      )
    })
    gateway.onStop(() => this.close())
    await this.addRoutes()
  }

  private async addRoutes(): Promise<void> {
    // For TRACE the target sends back all headers, also the gateway's own credential (RFC 9110, 9.3.8).
    const { settings } = this
    const methods = METHODS.filter((method) => method !== 'CONNECT' && method !== 'TRACE')
    await this.gateway.http.register(async (http) => {
      await this.transports.register?.(http)
      for (const method of methods) {
        if (!http.supportedMethods.includes(method)) http.addHttpMethod(method, { hasBody: false })
      }
      const route = {
        config: {
          errors: jsonRpcErrors,
          forwardsExpect: true,
          upgrades: true,
          mcp: true,
          ...(settings.maxBody !== undefined && { maxMessage: Math.min(settings.maxBody, LONGEST_MESSAGE) }),
          readBody: (request, response, maxBytes) => this.readBody(request, response, maxBytes),
        },
        // The last hook before Fastify's body parser, which would refuse unknown content types.
        preParsing: (request, reply, _payload, done) => this.forward(request, reply, done),
        handler: (_request, reply) => reply,
      } satisfies Partial<RouteOptions>
      http.route({ ...route, method: methods, url: '/*' })
      // The path of the scope without a slash at its end, since clients get this URL for the server.
      const remaining = methods.filter((method) => !http.hasRoute({ method, url: this.gateway.scope }))
      if (this.gateway.scope !== '') http.route({ ...route, method: remaining, url: '' })
    })
  }

  private forward(request: FastifyRequest, reply: FastifyReply, done: (error: Error) => void): void {
    const { context } = this
    if (context === undefined) throw new Error('a request came before the start')
    // The client disconnected during authentication: no later `close` event would cancel the request.
    if (request.raw.socket.destroyed) return
    const path = this.announced.pathFor(request) ?? this.target.pathFor(request.originalUrl)
    const framing = bodyFraming(request.raw, this.limits.maxBytes)
    let proxied: ProxiedRequest | undefined
    const send = (transport: Transport, body?: RequestParts['body'], source?: Body): void => {
      const sent = framing.length === 0 ? undefined : this.bodyFor(request, body)
      proxied = new ProxiedRequest(context, request, reply, { path, body: sent, source, transport }, done)
      readBodyBy(request, proxied)
      proxied.start()
    }
    if (framing.length === 0) {
      send(this.canBuffer(request) ? this.transports.buffered : this.transports.streaming)
      return
    }
    const early = bodyRead(request)
    if (early !== undefined) {
      send(this.transportFor(framing, request, early), early)
      return
    }
    const body = new Body(request.raw, this.limits, this.callerOf(request), (refusal) => {
      if (isTooSlow(refusal)) reply.header('connection', 'close')
      if (proxied === undefined) done(refusal)
      else proxied.fail(refusal)
    })
    // Only at `close`: until then the request also holds the bytes.
    reply.raw.on('close', () => body.drop())
    const kept = bytesToKeep(framing, request, context.credentials.renewable)
    if (kept === 0) {
      send(this.transports.streaming, body)
      return
    }
    body.readWhole(framing.length, kept, (whole) => {
      request.body = whole
      const transport =
        whole === undefined ? this.transports.streaming : this.transportFor(framing, request, whole)
      send(transport, whole ?? body, body)
    })
  }

  /** The body to send. Observers get a copy of a streamed body. */
  private bodyFor(request: FastifyRequest, body: RequestParts['body']): RequestParts['body'] {
    if (Buffer.isBuffer(body)) return this.passage.bodyFor(request, body)
    const observed = observationOf(request)
    if (observed === undefined) return body
    observed.bodyRead(undefined)
    observed.body.isComing = body !== undefined
    body?.copyTo((whole) => {
      observed.body.isComing = false
      observed.bodyRead(whole)
    })
    return body
  }

  /** Reads the body before the request is forwarded, for policies and limits. It is kept while it may be sent again. */
  private readBody(
    request: FastifyRequest,
    response: ServerResponse,
    maxBytes: number,
  ): Buffer | Promise<Buffer> {
    const fail = (error: unknown): never => {
      if (!response.headersSent && isTooSlow(error)) response.setHeader('connection', 'close')
      throw error
    }
    try {
      const { length } = bodyFraming(request.raw, Math.min(maxBytes, this.limits.maxBytes))
      if (length === 0) return NO_BODY
      const body = new Body(request.raw, this.limits, this.callerOf(request), () => {})
      bodyKeptBy(request, body)
      response.on('close', () => body.drop())
      askForBody(request, response)
      const whole = body.readAll(length, maxBytes)
      return isPromise(whole) ? whole.catch(fail) : whole
    } catch (error) {
      return fail(error)
    }
  }

  private callerOf(request: FastifyRequest): string | undefined {
    const { caller } = requestKeyOf(request, this.open)
    return caller && networkOf(caller)
  }

  /** The transport for a request whose body was read. */
  private transportFor({ chunked }: BodyFraming, request: FastifyRequest, whole: Buffer): Transport {
    const { method, headers } = request
    const needsStreaming = chunked || method === 'GET' || method === 'HEAD' || headers.expect !== undefined
    if (whole.length > LARGEST_HELD) return this.transports.streaming
    return needsStreaming ? this.transports.streaming : this.transports.buffered
  }

  /** Requests that undici would write in another way, or not at all, need the streaming transport. */
  private canBuffer({ raw, method, headers }: FastifyRequest): boolean {
    if (method === 'HEAD' || isUpgrade(raw) || headers.expect !== undefined) return false
    return headers['content-length'] === undefined || method === 'POST' || method === 'PUT'
  }

  private close(): void {
    this.transports.close()
    this.limits.slowBodies.close()
  }
}

/**
 * The gateway does not wait for the rest of such a body. If it never requested the body, Node closes the connection.
 */
const isTooSlow = (error: unknown): boolean => error instanceof Refusal && error.statusCode === 408

/** How many bytes of a body may be read before the request is sent: 0 for a body that has to be streamed. */
function bytesToKeep(
  { length, chunked }: BodyFraming,
  { headers }: FastifyRequest,
  renewable: boolean,
): number {
  if (headers.expect !== undefined) return 0
  const maxBytes = renewable ? KEPT_BODY : chunked ? 0 : BUFFERED_BODY
  return (length ?? 0) > maxBytes ? 0 : maxBytes
}
