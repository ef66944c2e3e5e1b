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

/** Bytes of all answers together that are kept to be read for observers. */
const READ_BYTES = 64 * 1024 * 1024
/** Milliseconds for a server to complete a response that is held. */
const TIMEOUT = 60_000

export interface PassageOptions {
  /** Milliseconds for the server to complete a response that is held until its lists were filtered; 0 for no limit. */
  readonly timeout?: number
}

/** How one response passes. */
export interface ResponseOptions {
  /** Headers, in lower case, that the client does not get. */
  readonly omitted?: ReadonlySet<string> | undefined
  /** Something went wrong: the server's side has to end, and the client gets an error where nothing was written yet. */
  readonly onError: (error: unknown) => void
}

/** A response for `Passage.send`. */
export interface PassedResponse {
  readonly status: number
  readonly headers: Iterable<readonly [name: string, value: string]>
  readonly body?: Readable | undefined
}

/**
 * The way of every request to an MCP server and back. Policies take out of lists what they hide, and audits, metrics and
 * traces read what became of the calls. A plugin opens it in `setup`, before it declares routes with `mcp: true`, and answers
 * these by it alone: any other response is refused while a policy, a limit of calls or an audit stands in the list.
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

// For all copies of this package in a process: a plugin may bring one of its own.
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
  /** Where the scope has policies. */
  lists: ListFilter | undefined
  /** Tracers say what the server gets of a trace. */
  isTraced = false
  private readonly room = new ByteBudget(READ_BYTES)

  constructor(private readonly throttle: LogThrottle) {}

  /** Headers of clients that the server must not get, in lower case; known once the list starts. */
  get droppedHeaders(): readonly string[] {
    return [
      ...(this.lists === undefined ? [] : FOR_PARTS_AND_CODINGS),
      ...(this.isTraced ? TRACE_CONTEXT : []),
    ]
  }

  /** Headers that the server gets in place of those. */
  headersFor(request: FastifyRequest): OutgoingHeaders {
    const traced = this.isTraced ? (callObserverOf(request)?.traceHeaders ?? NONE) : NONE
    if (this.lists === undefined) return traced
    return traced.length === 0 ? PLAIN : [...traced, ...PLAIN]
  }

  /** The body to send: observers read what it calls, and a trace may be written into it. */
  bodyFor(request: FastifyRequest, body: Buffer): Buffer {
    const observer = callObserverOf(request)
    if (observer === undefined) return body
    observer.bodyRead(body)
    if (!observer.intoMeta || observer.message === undefined || hasDigest(request)) return body
    const sent = withTrace(body, observer.traceHeaders)
    if (sent !== body) bodyReplaced(request, sent)
    return sent
  }

  /** Sends a response whose body is a stream. It resolves when all is sent, and rejects when it could not be. */
  async send(reply: FastifyReply, response: PassedResponse): Promise<void> {
    // Its client has left: no event would tell of the end.
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

  /** Where a response with this head has to be written to. */
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
    // Observers get what the server answered, with the names of all its tools.
    return readingAnswers(filtered, head, request, room)
  }

  /** A response that has begun is cut off: no error reply, nor its line in the log, tells why. */
  private logEndOf({ raw, request }: FastifyReply, error: unknown): void {
    if (!raw.headersSent || raw.destroyed) return
    const common = { code: failureOf(error).code, route: request.routeOptions.url }
    this.throttle.write(request.log, 'error', 'a response was cut off', common, { err: error })
  }
}

const NONE: readonly never[] = []
const PLAIN: OutgoingHeaders = [['Accept-Encoding', 'identity']]
const TRACE_CONTEXT: readonly string[] = ['traceparent', 'tracestate']

// A response can only be looked through when it is whole, and in no coding.
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

interface WithTrailers extends Pick<FastifyRequest, 'headers'> {
  /** A dispatched request has none, whatever the types of Node say. */
  readonly raw: { readonly rawTrailers?: readonly string[] | undefined }
}

const DIGESTS = ['content-digest', 'repr-digest', 'digest', 'content-md5']

/** They are of the bytes that came. Those in trailers are announced, or are here with the body. */
function hasDigest({ headers, raw }: WithTrailers): boolean {
  const trailers = [...(headers.trailer ?? '').split(','), ...(raw.rawTrailers ?? [])]
  const inTrailers = new Set(trailers.map((name) => name.trim().toLowerCase()))
  return DIGESTS.some((name) => headers[name] !== undefined || inTrailers.has(name))
}
