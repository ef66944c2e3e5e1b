import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http'
import { Readable } from 'node:stream'
import replyFrom from '@fastify/reply-from'
import type { FastifyInstance } from 'fastify'
import type { BalancedConnections } from './balanced-connections.js'
import {
  incomplete,
  leftOutFor,
  NOT_SENT,
  unknownStatus,
  unsupported,
  unsupportedPath,
} from './balanced-failures.js'
import { flat, grouped } from './balanced-headers.js'
import type { Body } from './body.js'
import { targetFailure } from './failures.js'
import type { TransportChoice } from './forwarder.js'
import type { Replica, Replicas } from './replicas.js'
import {
  type Call,
  endsWithHead,
  LARGEST_HELD,
  type OutgoingRequest,
  type ResponseHandler,
  type Transport,
} from './transport.js'

/** What reply-from passes to `onResponse`; its types have the server's own response in place of it. */
interface ReplicaResponse {
  readonly statusCode: number
  readonly headers: IncomingHttpHeaders
  readonly stream: Readable
}

/** Sends requests by @fastify/reply-from, each to one of the replicas. */
export class BalancedTransport implements Transport, TransportChoice {
  readonly buffered = this
  readonly streaming = this

  constructor(
    readonly replicas: Replicas,
    readonly connections: BalancedConnections,
  ) {}

  async register(http: FastifyInstance): Promise<void> {
    await http.register(replyFrom, {
      undici: this.connections,
      destroyAgent: true,
      // An empty list is the only setting that turns all of its own retries off, those of a 503 too.
      retryMethods: [],
      disableRequestLogging: true,
    })
  }

  send(outgoing: OutgoingRequest, handler: ResponseHandler): Call {
    const call = new BalancedCall(this, outgoing, handler)
    call.start()
    return call
  }

  /** reply-from closes its connections with the routes. */
  close(): void {}
}

class BalancedCall implements Call {
  private readonly tried = new Set<Replica>()
  private readonly session: string | undefined
  private readonly path: string
  private readonly query: string
  private sent: Readable | undefined
  private response: Readable | undefined
  private status = 0
  /** Bytes of the announced body that have not come. */
  private missing = Number.NaN
  private ended = false
  private readonly aborting = new AbortController()
  private readonly replicas: Replicas

  constructor(
    private readonly transport: BalancedTransport,
    private readonly outgoing: OutgoingRequest,
    private readonly handler: ResponseHandler,
  ) {
    this.replicas = transport.replicas
    const [path = '', ...query] = outgoing.path.split('?')
    this.path = path
    this.query = query.join('?')
    const session = outgoing.reply.request.headers['mcp-session-id']
    this.session = typeof session === 'string' ? session : undefined
  }

  start(): void {
    const { method, body, upgrade, reply } = this.outgoing
    const bodyless = method === 'GET' || method === 'HEAD'
    if (upgrade || (bodyless && body !== undefined)) {
      this.fail(unsupported('neither upgrades nor bodies of GET and HEAD are forwarded to replicas'))
      return
    }
    // reply-from sends the path as URL has it: it goes as it is, or not at all.
    if (new URL(`http://gateway.invalid${this.path}`).pathname !== this.path) {
      this.fail(unsupportedPath())
      return
    }
    if (Buffer.isBuffer(body) && body.length > LARGEST_HELD) {
      this.sent = Readable.from([body])
      reply.request.body = this.sent
    } else if (body !== undefined && !Buffer.isBuffer(body)) {
      // undici takes no `Expect`, so the body is asked for before the replica does.
      this.handler.onContinue()
      this.sent = readable(body)
      reply.request.body = this.sent
    }
    this.sendToNext()
  }

  resume(): void {
    const { response, handler } = this
    if (response === undefined || this.ended) return
    if (endsWithHead(this.outgoing.method, this.status)) {
      this.end()
      return
    }
    // Only now: a listener makes the stream flow.
    if (response.listenerCount('data') === 0) {
      response.on('data', (chunk: Buffer) => {
        this.missing -= chunk.length
        if (!this.ended && !handler.onData(chunk)) response.pause()
      })
    }
    response.resume()
  }

  abort(): void {
    this.ended = true
    this.sent?.destroy()
    this.response?.destroy()
    // Without a response too: the head of an event stream may come with its first event, and nothing limits that.
    this.aborting.abort()
  }

  private sendToNext(): void {
    const replica = this.replicas.choose(this.session, this.tried)
    if (replica === undefined) throw new Error('every replica was tried')
    this.tried.add(replica)
    const { headers, body, timeout, reply } = this.outgoing
    const { path, query, transport, aborting } = this
    try {
      const { signal } = aborting
      transport.connections.next = { signal, onFailure: (error) => this.onFailure(replica, error) }
      reply.from(path, {
        getUpstream: () => replica.origin,
        queryString: () => query,
        rewriteRequestHeaders: () => grouped(headers, new URL(replica.origin).host),
        // With a content type it passes bytes as they are, and without a body it reads none.
        ...(Buffer.isBuffer(body) &&
          this.sent === undefined && { body, contentType: 'application/octet-stream' }),
        ...(body === undefined && { body: null }),
        ...(timeout === 0 && { timeout }),
        rewriteHeaders: () => ({}),
        onResponse: (_request, _reply, response) =>
          this.onResponse(replica, response as unknown as ReplicaResponse),
        onError: () => this.fail(unknownStatus()),
      })
    } catch {
      this.fail(unsupportedPath())
    }
  }

  private onResponse(replica: Replica, { statusCode, headers, stream }: ReplicaResponse): void {
    stream.on('error', (error) => this.fail(error))
    if (this.ended) {
      stream.destroy()
      return
    }
    stream.on('end', () => this.end())
    this.response = stream
    this.status = statusCode
    this.missing = Number(headers['content-length'])
    if (statusCode < 300) this.noteSession(replica, headers['mcp-session-id'])
    const head = { status: statusCode, reason: STATUS_CODES[statusCode] ?? '', headers: flat(headers) }
    if (this.handler.onHead(head, this)) this.resume()
  }

  private noteSession(replica: Replica, named: string | string[] | undefined): void {
    const { method } = this.outgoing
    if (method === 'DELETE' && this.session !== undefined) this.replicas.ended(this.session)
    else if (typeof named === 'string' && named !== this.session) this.replicas.started(named, replica)
  }

  private onFailure(replica: Replica, error: Error): void {
    if (this.ended) return
    const code = 'code' in error ? String(error.code) : ''
    // A caller must not be able to put replicas out of use by a request that nobody could send.
    if (NOT_SENT.has(code)) {
      this.fail(unsupported('this request cannot be forwarded to replicas'))
      return
    }
    this.replicas.leaveOut(replica, leftOutFor(error, code))
    const { method, body } = this.outgoing
    const mayRepeat = body === undefined && this.response === undefined && IDEMPOTENT.has(method)
    if (mayRepeat && this.tried.size < this.replicas.size) this.sendToNext()
    else this.fail(error)
  }

  private end(): void {
    if (this.ended) return
    // A stream of HTTP/2 that was cancelled looks complete.
    if (this.missing > 0 && !endsWithHead(this.outgoing.method, this.status)) {
      this.fail(incomplete())
      return
    }
    this.ended = true
    this.response?.resume()
    this.handler.onEnd([])
  }

  private fail(error: unknown): void {
    if (this.ended) return
    this.ended = true
    this.sent?.destroy()
    this.handler.onError(targetFailure(error))
  }
}

// RFC 9110, 9.2.2; TRACE is not forwarded.
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

function readable(body: Body): Readable {
  const stream = new Readable({ read: () => body.resume() })
  stream.on('error', () => {})
  body.streamTo(
    (chunk) => stream.push(chunk),
    () => stream.push(null),
  )
  return stream
}
