import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { OutgoingHeaders } from '../contract/capabilities/header-source.js'
import { Policy } from '../contract/capabilities/policy.js'
import { Tracer } from '../contract/capabilities/tracer.js'
import { GatewayError, UpstreamError } from '../contract/errors.js'
import type { Gateway } from '../contract/gateway.js'
import { bodyReplaced } from '../http/body.js'
import { releaseHead } from '../http/counted-response.js'
import { joinedValues } from '../http/flat-headers.js'
import { LogThrottle } from '../log/log-throttle.js'
import { ByteBudget } from '../toolkit/byte-budget.js'
import { readingAnswers } from './answers.js'
import { callObserverOf } from './call-observer.js'
import { errorEvent } from './error-shape.js'
import { FilteredBody } from './filtered-body.js'
import { FilteredEvents } from './filtered-events.js'
import { mcpHeaders } from './headers.js'
import { UnreadResponse } from './held-responses.js'
import { ListFilter } from './list-filter.js'
import { messageRead } from './message.js'
import { METHOD_FOR } from './methods.js'
import { isEventStream, type ResponseHead, type ResponseSink } from './response.js'
import { ResponseWriter } from './response-writer.js'
import { withTrace } from './trace-meta.js'

/** The limit for the bytes of all answers together that are kept for observers. */
const READ_BYTES = 64 * 1024 * 1024
/** Milliseconds for a server to complete a held response. */
const TIMEOUT = 60_000

export interface PassageOptions {
  /** Milliseconds for the server to complete a response that is held until its lists are filtered; 0 for no limit. */
  readonly timeout?: number
}

/** Options for one response. */
export interface ResponseOptions {
  /** Headers, in lower case, that the client does not get. */
  readonly omitted?: ReadonlySet<string> | undefined
  /** Called on a failure: it has to end the request to the server, and to send an error if no head was written yet. */
  readonly onError: (error: unknown) => void
}

/** A response for `Passage.send`. */
export interface PassedResponse {
  readonly status: number
  readonly headers: Iterable<readonly [name: string, value: string]>
  readonly body?: Readable | undefined
}

/**
 * The path of every request to an MCP server and of its response. On it policies filter lists, and audits, metrics and
 * traces read the results of calls. A plugin opens the passage in `setup`, before it declares routes with `mcp: true`,
 * and answers these routes through it alone: while the list has a policy, a limit of calls or an audit, the gateway
 * refuses any other response.
 */
export function openPassage(gateway: Gateway, { timeout = TIMEOUT }: PassageOptions = {}): Passage {
  gateway.http.addHook('onRoute', (route) => {
    route.config = { ...route.config, [HAS_PASSAGE]: true }
  })
  const policies = gateway.use(Policy)
  const tracers = gateway.use(Tracer)
  const passage = new Passage(new LogThrottle(gateway.log))
  gateway.onStart(() => {
    if (policies().length > 0) passage.lists = new ListFilter(policies(), timeout)
    passage.isTraced = tracers().length > 0
  })
  return passage
}

// Shared by all copies of this package in a process: a plugin may bring its own.
const HAS_PASSAGE = Symbol.for('sallyport has passage')

declare module 'fastify' {
  interface FastifyContextConfig {
    [HAS_PASSAGE]?: true
  }
}

/** Whether a route of an MCP server was declared without a passage. */
export const lacksPassage = ({ config }: Pick<RouteOptions, 'config'>): boolean =>
  config?.mcp === true && config[HAS_PASSAGE] !== true

export class Passage {
  /** Defined if the scope has policies. */
  lists: ListFilter | undefined
  /** Whether tracers set the trace headers that the server gets. */
  isTraced = false
  private readonly room = new ByteBudget(READ_BYTES)

  constructor(private readonly throttle: LogThrottle) {}

  /** The client's headers that the server must not get, in lower case; known once the list starts. */
  get droppedHeaders(): readonly string[] {
    return [
      ...(this.lists === undefined ? [] : FOR_PARTS_AND_CODINGS),
      ...(this.isTraced ? TRACE_CONTEXT : []),
    ]
  }

  /** Headers that the server gets instead of the dropped ones. */
  headersFor(request: FastifyRequest): OutgoingHeaders {
    const traced = this.isTraced ? (callObserverOf(request)?.traceHeaders ?? NONE) : NONE
    if (this.lists === undefined) return traced
    return traced.length === 0 ? PLAIN : [...traced, ...PLAIN]
  }

  /** The body to send: observers read its calls, and a trace may be written into it. */
  bodyFor(request: FastifyRequest, body: Buffer): Buffer {
    const observer = callObserverOf(request)
    if (observer === undefined) return body
    observer.bodyRead(body)
    if (!observer.intoMeta || observer.message === undefined || hasDigest(request)) return body
    const sent = withTrace(body, observer.traceHeaders)
    if (sent !== body) bodyReplaced(request, sent)
    return sent
  }

  /** Sends a response whose body is a stream. Resolves when all is sent, and rejects when sending fails. */
  async send(reply: FastifyReply, response: PassedResponse): Promise<void> {
    // The client has left already: `close` would not come again.
    if (reply.raw.destroyed) response.body?.destroy()
    else await this.sent(reply, response)
  }

  private sent(reply: FastifyReply, { status, headers, body }: PassedResponse): Promise<void> {
    return new Promise((resolve, reject) => {
      const onError = (error: unknown): void => {
        body?.destroy()
        if (reply.raw.headersSent) reply.raw.destroy()
        reject(error)
      }
      const head = { status, reason: '', headers: [...headers].flat() }
      reply.raw.once('close', () => {
        body?.destroy()
        sink.discard()
        resolve()
      })
      const sink = this.respond(reply, head, { onError })
      const attempt = (step: () => void): void => {
        try {
          step()
        } catch (error) {
          onError(error)
        }
      }
      attempt(() => sink.begin(head, { resume: () => body?.resume(), abort: () => body?.destroy() }))
      if (body === undefined) {
        attempt(() => sink.end([]))
        return
      }
      body.on('data', (chunk: Buffer) => attempt(() => void (sink.data(chunk) || body.pause())))
      body.on('end', () => attempt(() => sink.end([])))
      body.on('error', onError)
    })
  }

  /** Returns the sink to write a response with this head to. */
  respond(reply: FastifyReply, head: ResponseHead, { omitted, onError }: ResponseOptions): ResponseSink {
    const { lists, room } = this
    const { request } = reply
    releaseHead(reply.raw)
    const writer = new ResponseWriter(reply, omitted)
    if (lists === undefined || isForOneCall(head, request)) return readingAnswers(writer, head, request, room)
    const fail = (error: unknown): void => {
      this.logEndOf(reply, error)
      onError(error)
    }
    const unread = new UnreadResponse(writer, lists.budget, lists.readTimeout, fail)
    const Filtered = isEventStream(head) ? FilteredEvents : FilteredBody
    const caller = { identity: request.identity, request }
    const filtered = new Filtered(unread, lists, caller, fail, (error) => eventOf(error, request))
    // Observers get the unfiltered answer, with the names of all tools of the server.
    return readingAnswers(filtered, head, request, room)
  }

  /** Logs why a response that has begun is cut off: there is no error reply, and so no log line of one. */
  private logEndOf({ raw, request }: FastifyReply, error: unknown): void {
    if (!raw.headersSent || raw.destroyed) return
    const common = { code: failureOf(error).code, route: request.routeOptions.url }
    this.throttle.write(request.log, 'error', 'a response was cut off', common, { err: error })
  }
}

const NONE: readonly never[] = []
const PLAIN: OutgoingHeaders = [['Accept-Encoding', 'identity']]
const TRACE_CONTEXT: readonly string[] = ['traceparent', 'tracestate']

// A response can be filtered only when it is complete and not encoded.
const FOR_PARTS_AND_CODINGS: readonly string[] = [
  'accept-encoding',
  'a-im',
  'range',
  'if-range',
  'if-none-match',
  'if-modified-since',
]

const failureOf = (error: unknown): GatewayError =>
  error instanceof GatewayError
    ? error
    : new UpstreamError('TARGET_FAILED', 'the request to the target failed', { cause: error })

function eventOf(error: unknown, request: FastifyRequest): Buffer | undefined {
  const { code, message, statusCode: status } = failureOf(error)
  return errorEvent({ status, code: code.toLowerCase(), sentence: message, requestId: request.id }, request)
}

/**
 * Whether a response can hold no list: it is plain JSON, so it answers its own request alone, and that request uses a
 * tool, prompt or resource by name. The events of a stream may answer other requests.
 */
function isForOneCall({ headers }: ResponseHead, request: FastifyRequest): boolean {
  const message = messageRead(request)
  if (message === undefined || message.isBatch) return false
  const [call] = message.calls
  if (call?.kind !== 'request' || !USES.has(call.method)) return false
  // Since 2026-07-28, the first version with these headers, the result of `resources/read` has a `cacheScope`.
  if (call.method === METHOD_FOR.resource && mcpHeaders(request.headers).mcpMethod !== undefined) return false
  return PLAIN_JSON.test(joinedValues(headers, 'content-type') ?? '')
}

const USES: ReadonlySet<string> = new Set(Object.values(METHOD_FOR))

// Exact, since clients search for the type of event streams anywhere in the header.
const PLAIN_JSON = /^application\/json(?:; ?charset=utf-8)?$/i

interface WithTrailers extends Pick<FastifyRequest, 'headers'> {
  /** A dispatched request has no trailers, though Node's types say otherwise. */
  readonly raw: { readonly rawTrailers?: readonly string[] | undefined }
}

const DIGESTS = ['content-digest', 'repr-digest', 'digest', 'content-md5']

/** Whether the client sent a digest of its body, in a header or a trailer: the body must then stay unchanged. */
function hasDigest({ headers, raw }: WithTrailers): boolean {
  const trailers = [...(headers.trailer ?? '').split(','), ...(raw.rawTrailers ?? [])]
  const inTrailers = new Set(trailers.map((name) => name.trim().toLowerCase()))
  return DIGESTS.some((name) => headers[name] !== undefined || inTrailers.has(name))
}
