import type { Duplex } from 'node:stream'
import { UpstreamError } from 'sallyport'
import { type FlatHeaders, failureCode, firstValue } from 'sallyport/toolkit'
import type { TransportChoice } from './forwarder.js'
import type { Exclusion, Replica, Replicas } from './replicas.js'
import type { Call, OutgoingRequest, ResponseHandler, ResponseHead, Transport } from './transport.js'
import type { Transports } from './transports.js'

/** The transports to all replicas, behind one buffered and one streaming transport that choose a replica. */
export class BalancedTransports implements TransportChoice {
  readonly buffered: Transport
  readonly streaming: Transport

  constructor(
    replicas: Replicas,
    private readonly each: ReadonlyMap<string, Transports>,
  ) {
    const ofOrigin = (origin: string): Transports => each.get(origin) ?? fail(`no replica at ${origin}`)
    this.buffered = new BalancedTransport(replicas, (origin) => ofOrigin(origin).buffered)
    this.streaming = new BalancedTransport(replicas, (origin) => ofOrigin(origin).streaming)
  }

  close(): void {
    for (const transports of this.each.values()) transports.close()
  }
}

/** Sends each request to one replica, and to the next after a failure, if the request may be repeated. */
class BalancedTransport implements Transport {
  constructor(
    readonly replicas: Replicas,
    readonly transportTo: (origin: string) => Transport,
  ) {}

  send(outgoing: OutgoingRequest, handler: ResponseHandler): Call {
    const call = new BalancedCall(this, outgoing, handler)
    call.sendToNext()
    return call
  }

  close(): void {}
}

class BalancedCall implements Call, ResponseHandler {
  private readonly tried = new Set<Replica>()
  private readonly session: string | undefined
  private replica: Replica | undefined
  private call: Call | undefined
  private begun = false

  constructor(
    private readonly transport: BalancedTransport,
    private readonly outgoing: OutgoingRequest,
    private readonly handler: ResponseHandler,
  ) {
    const session = outgoing.reply.request.headers['mcp-session-id']
    this.session = typeof session === 'string' ? session : undefined
  }

  sendToNext(): void {
    const { transport, outgoing } = this
    const replica = transport.replicas.choose(this.session, this.tried) ?? fail('every replica was tried')
    this.replica = replica
    this.tried.add(replica)
    setHost(outgoing.headers, replica.origin)
    this.call = transport.transportTo(replica.origin).send(outgoing, this)
  }

  resume(): void {
    this.call?.resume()
  }

  abort(): void {
    this.call?.abort()
  }

  onHead(head: ResponseHead, call: Call): boolean {
    this.begun = true
    if (head.status < 300) this.noteSession(firstValue(head.headers, 'mcp-session-id'))
    return this.handler.onHead(head, call)
  }

  onData(chunk: Buffer): boolean {
    return this.handler.onData(chunk)
  }

  onEnd(trailers: readonly string[]): void {
    this.handler.onEnd(trailers)
  }

  onError(error: unknown): void {
    const { transport, replica, tried, outgoing } = this
    if (this.begun || replica === undefined) {
      this.handler.onError(error)
      return
    }
    transport.replicas.leaveOut(replica, exclusionAfter(error, outgoing.upgrade))
    const mayRepeat = outgoing.body === undefined && IDEMPOTENT.has(outgoing.method)
    if (mayRepeat && tried.size < transport.replicas.size) this.sendToNext()
    else this.handler.onError(error)
  }

  requestTrailers(): FlatHeaders {
    return this.handler.requestTrailers()
  }

  onContinue(): void {
    this.handler.onContinue()
  }

  onUpgrade(head: ResponseHead, socket: Duplex, early: Buffer): void {
    this.begun = true
    this.handler.onUpgrade(head, socket, early)
  }

  private noteSession(named: string | undefined): void {
    const { session, replica } = this
    const { replicas } = this.transport
    if (this.outgoing.method === 'DELETE' && session !== undefined) replicas.sessionEnded(session)
    else if (named !== undefined && named !== session && replica !== undefined)
      replicas.sessionStarted(named, replica)
  }
}

// RFC 9110, 9.2.2; TRACE is not forwarded.
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** Changes the headers themselves: they belong to this request, and one replica at a time reads them. */
function setHost(headers: FlatHeaders, origin: string): void {
  const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'host')
  headers[at + 1] = new URL(origin).host
}

/** Which requests a replica no longer gets after this failure. No caller may be able to move the sessions of others. */
function exclusionAfter(error: unknown, upgrade: boolean): Exclusion {
  const kind = failureCode(error)
  // The replica hangs, or this one request takes long. A timeout while connecting is no `UpstreamError`.
  if (kind === 'EGRESS_TIMEOUT' && error instanceof UpstreamError) return 'new sessions'
  // Some servers refuse an upgrade by closing the connection.
  if (kind === 'EGRESS_RESET' && upgrade) return 'none'
  return NOT_CONNECTED.has(kind) ? 'all' : 'none'
}

// No connection, or one that was reset before the response.
const NOT_CONNECTED = new Set([
  'EGRESS_CLIENT_CERTIFICATE',
  'EGRESS_DNS',
  'EGRESS_PROXY',
  'EGRESS_PROXY_TIMEOUT',
  'EGRESS_REFUSED',
  'EGRESS_RESET',
  'EGRESS_TIMEOUT',
  'EGRESS_TLS',
  'EGRESS_UNREACHABLE',
])

function fail(reason: string): never {
  throw new Error(reason)
}
