import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { STATUS_CODES } from 'node:http'
import { type ClientHttp2Stream, constants, type Http2Session, type IncomingHttpHeaders } from 'node:http2'
import { Readable } from 'node:stream'
import replyFrom from '@fastify/reply-from'
import type { FastifyInstance } from 'fastify'
import { Refusal } from 'sallyport'
import { type FlatHeaders, failureCode, messageOf } from 'sallyport/toolkit'
import type { Body } from './body.js'
import { responseTimeout } from './failures.js'
import type { TransportChoice } from './forwarder.js'
import { http2Connection } from './http2-connection.js'
import type { Target } from './target.js'
import type { TargetTls } from './target-tls.js'
import {
  type Call,
  endsWithHead,
  LARGEST_HELD,
  type OutgoingRequest,
  type ResponseHandler,
  type Transport,
} from './transport.js'

const PONG_TIMEOUT = 10_000

/** The object that reply-from passes to `onResponse` for HTTP/2; its types name the server's own response instead. */
interface TargetResponse {
  readonly statusCode: number
  readonly headers: IncomingHttpHeaders
}

/** Sends requests over the one HTTP/2 connection that @fastify/reply-from has to the target. */
export class Http2Transport implements Transport, TransportChoice {
  readonly buffered = this
  readonly streaming = this
  private session: Http2Session | undefined

  constructor(
    private readonly target: Target,
    private readonly tls: TargetTls | undefined,
  ) {
    // The next request opens another connection.
    tls?.onChange(() => this.session?.close())
  }

  async register(http: FastifyInstance): Promise<void> {
    keepFailuresOutOfLog(http)
    await http.register(replyFrom, {
      base: this.target.origin,
      http2: {
        // 0 keeps an idle connection open, and one whose streams are silent.
        sessionTimeout: 0,
        sessionOptions: {
          rejectUnauthorized: true,
          settings: { enablePush: false },
          createConnection: () => http2Connection(this.target.origin, this.tls?.secureContext),
        },
      },
      // Only an empty list turns off all retries of reply-from, also those after a 503.
      retryMethods: [],
      disableRequestLogging: true,
    })
  }

  send(outgoing: OutgoingRequest, handler: ResponseHandler): Call {
    const call = new Http2Call(this, outgoing, handler)
    call.start()
    return call
  }

  /** reply-from closes its connection with the routes. */
  close(): void {}

  opened({ session }: ClientHttp2Stream): void {
    if (session === undefined || session === this.session) return
    this.session = session
    // reply-from listens only until it is connected: then a GOAWAY with an error would end the process. Streams report
    // it.
    session.on('error', () => {})
  }

  /** Pings after a missing response: on a dead connection all requests would fail until TCP notices. */
  probe(): void {
    const { session } = this
    if (session === undefined || session.destroyed) return
    const timer = setTimeout(() => session.destroy(), PONG_TIMEOUT)
    if (!session.ping(() => clearTimeout(timer))) clearTimeout(timer)
  }
}

/**
 * Drops reply-from's log lines, one for each failure and each caller that disconnects. The gateway's error reply logs
 * failures, ten times a minute at most.
 */
function keepFailuresOutOfLog(http: FastifyInstance): void {
  const create = http.childLoggerFactory
  http.setChildLoggerFactory(function create_(...given) {
    const log = create.apply(this, given)
    const warn = (...line: Parameters<typeof log.warn>): void => {
      if (line[1] !== 'response errored') log.warn(...line)
    }
    return Object.create(log, { warn: { value: warn } })
  })
}

// A channel of Node's `diagnostics_channel`, since reply-from shows a stream only once it has a response.
const STREAM_CREATED = 'http2.client.stream.created'

// RFC 9110, 9.3; reply-from sends no body with these methods.
const BODYLESS = new Set(['GET', 'HEAD', 'DELETE'])

class Http2Call implements Call {
  private stream: ClientHttp2Stream | undefined
  private sent: Readable | undefined
  /** The status of the response; 0 before it. */
  private status = 0
  /** Bytes of the announced body that have not arrived; NaN without an announced length. */
  private missing = Number.NaN
  private trailers: FlatHeaders = []
  private ended = false

  constructor(
    private readonly transport: Http2Transport,
    private readonly outgoing: OutgoingRequest,
    private readonly handler: ResponseHandler,
  ) {}

  start(): void {
    const { method, path, headers, body, timeout, upgrade, reply } = this.outgoing
    const [pathname = '', ...query] = path.split('?')
    // reply-from sends the path as URL normalizes it, so a path that URL would change is refused.
    const isChanged = new URL(`http://gateway.invalid${pathname}`).pathname !== pathname
    if (upgrade || isChanged || (body !== undefined && BODYLESS.has(method))) {
      this.fail(unsupported())
      return
    }
    const isWhole = Buffer.isBuffer(body) && body.length <= LARGEST_HELD
    if (body !== undefined && !isWhole) {
      this.sent = this.readable(body)
      reply.request.body = this.sent
    }
    const onStream = (message: unknown): void => this.onStream((message as CreatedMessage).stream)
    subscribe(STREAM_CREATED, onStream)
    try {
      reply.from(pathname, {
        queryString: () => query.join('?'),
        rewriteRequestHeaders: () => grouped(headers),
        // With a content type reply-from passes bytes unchanged, and with `null` it reads no body.
        ...(isWhole && { body, contentType: 'application/octet-stream' }),
        ...(body === undefined && { body: null }),
        timeout,
        rewriteHeaders: () => ({}),
        onResponse: (_request, _reply, response) => this.onResponse(response as unknown as TargetResponse),
        onError: (_reply, { error }) => this.onError(error),
      })
    } catch {
      this.fail(unsupported())
    } finally {
      unsubscribe(STREAM_CREATED, onStream)
    }
  }

  resume(): void {
    const { stream, handler } = this
    if (stream === undefined || this.status === 0 || this.ended) return
    if (endsWithHead(this.outgoing.method, this.status)) {
      this.end(stream)
      return
    }
    // Added only now, since a listener makes the stream flow.
    if (stream.listenerCount('data') === 0) {
      stream.on('data', (chunk: Buffer) => {
        this.missing -= chunk.length
        if (!this.ended && !handler.onData(chunk)) stream.pause()
      })
    }
    stream.resume()
  }

  abort(): void {
    this.ended = true
    this.cancel()
  }

  private cancel(): void {
    this.sent?.destroy()
    this.stream?.close(constants.NGHTTP2_CANCEL)
    this.stream?.destroy()
  }

  private onStream(stream: ClientHttp2Stream): void {
    this.stream = stream
    this.transport.opened(stream)
    stream.on('error', () => {})
  }

  private onResponse({ statusCode, headers }: TargetResponse): void {
    const { stream } = this
    if (this.ended || stream === undefined) {
      this.cancel()
      return
    }
    // A body may take any time.
    stream.setTimeout(0)
    stream
      .on('trailers', (trailers) => {
        this.trailers = flat(trailers)
      })
      .on('error', (error) => this.onError(error))
      .on('end', () => this.end(stream))
    this.status = statusCode
    this.missing = Number(headers['content-length'] ?? Number.NaN)
    const head = { status: statusCode, reason: STATUS_CODES[statusCode] ?? '', headers: flat(headers) }
    if (this.handler.onHead(head, this)) this.resume()
  }

  private onError(error: Error): void {
    if (this.ended) return
    const code = 'code' in error ? error.code : ''
    if (code === 'FST_REPLY_FROM_GATEWAY_TIMEOUT') {
      this.transport.probe()
      this.fail(responseTimeout())
    } else this.fail(failureCode(error) === 'EGRESS_FAILED' ? streamEnded(messageOf(error)) : error)
  }

  private end(stream: ClientHttp2Stream): void {
    if (this.ended) return
    // A stream that was cancelled looks complete.
    const isCut =
      this.missing > 0 || (Number.isNaN(this.missing) && stream.rstCode !== constants.NGHTTP2_NO_ERROR)
    if (isCut && !endsWithHead(this.outgoing.method, this.status)) {
      this.fail(streamEnded('the body is shorter than announced'))
      return
    }
    this.ended = true
    // If the response came before the end of the request body, the stream is cancelled.
    if (stream.writableFinished) stream.resume()
    else this.cancel()
    this.handler.onEnd(this.trailers)
  }

  private fail(error: unknown): void {
    if (this.ended) return
    this.abort()
    this.handler.onError(error)
  }

  /** The body as a stream. While the caller sends nothing, no time counts against the target. */
  private readable(body: Buffer | Body): Readable {
    if (Buffer.isBuffer(body)) return Readable.from(partsOf(body))
    // reply-from does not report `100 Continue`, so the gateway requests the body now.
    this.handler.onContinue()
    const limit = (milliseconds: number): void => {
      if (this.status === 0) this.stream?.setTimeout(milliseconds)
    }
    const readable = new Readable({
      read() {
        limit(0)
        body.resume()
      },
    }).on('error', () => {})
    const push = (chunk: Buffer | null): boolean => {
      limit(this.outgoing.timeout)
      return readable.push(chunk)
    }
    body.streamTo(push, () => void push(null))
    return readable
  }
}

interface CreatedMessage {
  readonly stream: ClientHttp2Stream
}

/** The body in parts: each part that is read shows that the target still reads. */
function* partsOf(body: Buffer): Generator<Buffer> {
  for (let start = 0; start < body.length; start += LARGEST_HELD)
    yield body.subarray(start, start + LARGEST_HELD)
}

// HTTP/2 frames bodies itself, and does not have these headers.
const NOT_SENT = new Set(['transfer-encoding', 'expect', 'trailer'])

/** The headers in the form of Node's HTTP/2, with the values of each name in their order. */
function grouped(headers: FlatHeaders): Record<string, string | string[]> {
  const found: Record<string, string | string[]> = {}
  for (let index = 0; index < headers.length; index += 2) {
    const lower = (headers[index] ?? '').toLowerCase()
    if (NOT_SENT.has(lower)) continue
    // Set here, since Node would add the default port.
    const name = lower === 'host' ? ':authority' : lower
    const value = headers[index + 1] ?? ''
    const before = found[name]
    found[name] = before === undefined ? value : [before, value].flat()
  }
  return found
}

/** The reverse of `grouped`. */
const flat = (headers: IncomingHttpHeaders): FlatHeaders =>
  Object.entries(headers).flatMap(([name, value = '']) =>
    name.startsWith(':') ? [] : [value].flat().flatMap((each) => [name, each]),
  )

const unsupported = (): Refusal =>
  new Refusal(501, 'REQUEST_UNSUPPORTED', 'this request cannot be forwarded by HTTP/2')

const streamEnded = (reason: string): Error => Object.assign(new Error(reason), { code: 'ECONNRESET' })
