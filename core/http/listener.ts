import { lookup } from 'node:dns/promises'
import { createServer, type IncomingMessage, type Server, type ServerOptions } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { type Duplex, duplexPair } from 'node:stream'
import type { Logger } from 'pino'
import type { Listener, ListenerTls } from '../contract/capabilities/listener.js'
import { ConfigError } from '../contract/errors.js'
import { LogThrottle } from '../log/log-throttle.js'
import { formatHostPort, type HostPort, parseHostPort } from '../toolkit/host-port.js'
import { Connections } from './connections.js'
import { CountedResponse } from './counted-response.js'
import { currentResponse } from './current-response.js'
import { endSocket } from './end-socket.js'
import type { Handler } from './handler.js'
import { PipelinedRequests } from './pipelined-requests.js'
import { createTlsServer, secureContext } from './tls-server.js'
import { handleUpgrades, ignoreUpgrades, shouldUpgradeCallback } from './upgrades.js'

// Room for a bearer token of 16 KiB beside everything else.
const MAX_HEADER_SIZE = 32 * 1024
// Node drops header lines beyond 2000: a target would not see those that the gateway adds.
const MAX_HEADERS = 1_000
const HEADERS_TIMEOUT = 20_000
const KEEP_ALIVE_TIMEOUT = 72_000
// Milliseconds of silence after which the system probes whether the client is still there.
const KEEP_ALIVE_PROBE = 60_000

const OPTIONS: ServerOptions<typeof IncomingMessage, typeof CountedResponse> = {
  ServerResponse: CountedResponse,
  ...{ shouldUpgradeCallback },
  maxHeaderSize: MAX_HEADER_SIZE,
  connectionsCheckingInterval: 5_000,
  // A long upload is no fault. `limitBody` and the readers of a body limit one that never ends.
  requestTimeout: 0,
  // While the gateway sends nothing, only a probe notices a client that vanished without closing its connection.
  keepAlive: true,
  keepAliveInitialDelay: KEEP_ALIVE_PROBE,
}

/** One open port. Its handler, and the certificates of TLS, can be replaced while it stays open. */
export class HttpListener {
  private readonly server: Server
  private readonly secure: TlsServer | undefined
  private readonly connections: Connections
  private handler: Handler = notReady
  private readonly handle: Handler = (request, response) => {
    if (this.connections.isRefused(request.socket)) return
    if (response instanceof CountedResponse) response.onWrite = this.connections.unread.watch
    if (request.rawHeaders.length > 2 * MAX_HEADERS) refuseHeaders(request, response)
    else this.handler(request, response)
  }
  private readonly pipelined = new PipelinedRequests(this.handle)
  private closed: Promise<void> | undefined
  private unfollowCertificates = (): void => {}

  constructor(
    private readonly tls: ListenerTls | undefined,
    log: Logger,
  ) {
    this.secure = tls && createTlsServer(OPTIONS, tls, log)
    this.server = this.secure ?? createServer(OPTIONS)
    // Unlimited here: Node would drop headers that may frame the message. `handle` refuses too many headers instead.
    this.server.maxHeadersCount = 0
    const handle: Handler = (request, response) => this.pipelined.handle(request, response)
    this.server.on('request', handle)
    // `100 Continue` is sent after the gate has admitted the request: see `admission`.
    this.server.on('checkContinue', handle)
    this.server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      if (this.connections.has(socket)) refuseInvalidHttp(error, socket)
      else refuseHandshake(error, socket, this.connections.tcpSocketOf(socket))
    })
    const throttle = new LogThrottle(log)
    this.connections = new Connections(
      this.server,
      tls !== undefined,
      refuseConnection,
      (connections, bytes) => throttle.write(log, 'warn', UNREAD, {}, { connections, bytes }),
    )
  }

  async open({ address }: Listener): Promise<void> {
    const { host, port } = hostPortOf(address)
    await new Promise<void>((resolve, reject) => {
      const fail = (error: NodeJS.ErrnoException): void => reject(cannotListen(address, error))
      this.server.once('error', fail)
      this.server.listen({ host, port }, () => {
        this.server.off('error', fail)
        resolve()
      })
    })
  }

  /** Passes the next requests to this handler, with the settings of the listener. */
  setHandler(listener: Listener, handler: Handler, upgrades = false): void {
    this.handler = handler
    this.connections.max = listener.maxConnections ?? Number.POSITIVE_INFINITY
    this.server.headersTimeout = listener.headersTimeout ?? HEADERS_TIMEOUT
    this.server.keepAliveTimeout = listener.keepAliveTimeout ?? KEEP_ALIVE_TIMEOUT
    if (upgrades) handleUpgrades(this.server, this.handle)
    else ignoreUpgrades(this.server)
    this.followCertificates(listener.tls)
  }

  /** Throws for settings that an open port cannot change. */
  checkKept({ address, tls }: Listener): void {
    if (tls?.clientCertificate === this.tls?.clientCertificate) return
    const change = 'between http and https, nor whether it requests client certificates'
    const message = `an open port cannot change ${change}: restart the gateway, or choose another port`
    throw new ConfigError([{ place: `address ${address}`, message }])
  }

  private followCertificates(tls: ListenerTls | undefined): void {
    this.unfollowCertificates()
    if (tls === undefined) return
    const apply = (): void => this.secure?.setSecureContext(secureContext(tls))
    apply()
    this.unfollowCertificates = tls.onChange(apply)
  }

  /** Undefined once the port accepts no connections any more. */
  get url(): string | undefined {
    const bound = this.server.address() as AddressInfo | null
    return bound === null ? undefined : this.urlAt({ host: bound.address, port: bound.port })
  }

  private urlAt(hostPort: HostPort): string {
    return `${this.secure === undefined ? 'http' : 'https'}://${formatHostPort(hostPort)}`
  }

  /** Whether it listens at this address, also under another name of its host, such as `localhost`. */
  async isAt(address: string): Promise<boolean> {
    const { host, port } = hostPortOf(address)
    const resolved = await lookup(host).catch(() => ({ address: host }))
    const url = this.urlAt({ host: resolved.address, port })
    const own = this.url
    return own !== undefined && URL.canParse(url) && new URL(url).href === new URL(own).href
  }

  /** Accepts no new connections. Idle ones close now, busy ones after their response. */
  stopAccepting(): void {
    this.closed ??= new Promise((resolve) => this.server.close(() => resolve()))
    this.server.closeIdleConnections()
  }

  /** Closes all connections that are still open, and returns when the port is free again. */
  async destroy(): Promise<void> {
    this.stopAccepting()
    this.unfollowCertificates()
    this.connections.destroy()
    await this.closed
  }
}

const UNREAD =
  'connections were ended: too many response bytes waited to be read, and these clients had not read for longest'

const NOSNIFF = { 'x-content-type-options': 'nosniff' }

// Between opening a port and passing it to a list, the list's `onReady` steps run.
const notReady: Handler = (_request, response) => {
  response.writeHead(503, { ...NOSNIFF, 'retry-after': '1', connection: 'close' }).end()
}

const refuseHeaders: Handler = (_request, response) => {
  response
    .writeHead(431, { ...NOSNIFF, 'content-type': 'application/json', connection: 'close' })
    .end('{"error":"invalid_request","error_description":"the request has too many headers"}')
}

function hostPortOf(address: string): HostPort {
  const parsed = parseHostPort(address)
  if (parsed !== undefined) return parsed
  const message = 'expected HOST:PORT with a port from 0 to 65535'
  throw new ConfigError([{ place: `address ${address}`, message }])
}

const UNRESOLVED = 'its host name does not resolve: correct it, or give an IP address'

const LISTEN_FAILURES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use: stop the program that listens there, or choose another port',
  EACCES: 'this user may not listen there: choose a port above 1023',
  EADDRNOTAVAIL: 'this machine has no such address: choose one of its own, or 0.0.0.0 for all of them',
  EAI_AGAIN: UNRESOLVED,
  ENOTFOUND: UNRESOLVED,
}

function cannotListen(address: string, { code }: NodeJS.ErrnoException): ConfigError {
  const message = LISTEN_FAILURES[code ?? ''] ?? `cannot listen there (${code ?? 'unknown reason'})`
  return new ConfigError([{ place: `address ${address}`, message }])
}

const STATUS_OF: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

function refuseConnection(socket: Socket): void {
  socket.on('error', () => socket.destroy())
  sendRawResponse(
    socket,
    '503 Service Unavailable',
    'busy',
    'the gateway has reached its limit of connections',
    'Retry-After: 1\r\n',
  )
}

/** For bytes that are not TLS. Only a client that speaks plain HTTP would understand a response. */
function refuseHandshake(error: NodeJS.ErrnoException, socket: Socket, tcpSocket: Socket | undefined): void {
  if (error.code === 'ERR_SSL_HTTP_REQUEST' && tcpSocket?.writable === true)
    sendRawResponse(tcpSocket, '400 Bad Request', 'invalid_request', 'this port speaks https')
  socket.destroy()
}

function sendRawResponse(socket: Socket, status: string, error: string, sentence: string, more = ''): void {
  const body = JSON.stringify({ error, error_description: sentence })
  endSocket(
    socket,
    `HTTP/1.1 ${status}\r\nX-Content-Type-Options: nosniff\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${more}Connection: close\r\n\r\n${body}`,
  )
}

/** For bytes that are not HTTP, which never reach a list. Never writes into the middle of another response. */
function refuseInvalidHttp(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || currentResponse(socket)?.headersSent === true) {
    socket.destroy()
    return
  }
  const status = STATUS_OF[error.code ?? ''] ?? '400 Bad Request'
  sendRawResponse(socket, status, 'invalid_request', 'the bytes sent are not a valid HTTP request')
}

/** Connections to a list from within its process, without a port. Each is served like a connection to the main port. */
export class InProcessConnections {
  private readonly server: Server

  constructor(handler: Handler) {
    this.server = createServer(
      { ServerResponse: CountedResponse, requestTimeout: 0, headersTimeout: 0 },
      handler,
    )
    this.server.on('checkContinue', handler)
  }

  connect(): Duplex {
    const [clientSide, serverSide] = duplexPair()
    // The client runs in this process, and so on this machine.
    Reflect.set(serverSide, 'remoteAddress', '127.0.0.1')
    // A pair is two streams and no socket: destroying one side does not close the other.
    clientSide.on('close', () => serverSide.destroy())
    serverSide.on('close', () => {
      if (!serverSide.writableFinished) clientSide.destroy()
    })
    this.server.emit('connection', serverSide)
    return clientSide
  }
}
