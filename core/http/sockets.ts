import { lookup } from 'node:dns/promises'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Listener } from '../contracts/listener.js'
import { ConfigError } from '../errors.js'
import type { Handler } from './handler.js'
import { ignoreUpgrades, takeUpgrades } from './upgrades.js'

// Room for a bearer token of 16 KiB beside everything else.
const MAX_HEADER_SIZE = 32 * 1024
// Node leaves out what comes after 2000 lines: a server behind this one would not see what is added here.
const MOST_HEADERS = 1_000
const HEADERS_TIMEOUT = 20_000
const KEEP_ALIVE_TIMEOUT = 72_000
// Time for somebody who was turned away to read why.
const LINGER = 2_000

/** One open port. What answers behind it can be exchanged while it stays open. */
export class Door {
  private readonly server: Server
  private handler: Handler = notYet
  private readonly answer: Handler = (request, response) => {
    if (request.rawHeaders.length > 2 * MOST_HEADERS) refuseHeaders(request, response)
    else this.handler(request, response)
  }
  private closed: Promise<void> | undefined
  private maxConnections = Number.POSITIVE_INFINITY
  private readonly sockets = new Set<Socket>()
  private inside = 0

  constructor() {
    this.server = createServer({
      maxHeaderSize: MAX_HEADER_SIZE,
      connectionsCheckingInterval: 5_000,
      // A long upload is no fault. A body that never ends is bounded where it is read.
      requestTimeout: 0,
    })
    // All of them, as those that are left out may frame the message.
    this.server.maxHeadersCount = 0
    this.server.on('request', this.answer)
    // Nobody is told to go on before the gate has let the request in: see `Entrance`.
    this.server.on('checkContinue', this.answer)
    this.server.on('clientError', refuseGarbage)
    this.countSockets()
    this.spareTheSending()
  }

  async open({ address }: Listener): Promise<void> {
    const { host, port } = hostAndPort(address)
    await new Promise<void>((resolve, reject) => {
      const fail = (error: NodeJS.ErrnoException): void => reject(cannotListen(address, error))
      this.server.once('error', fail)
      this.server.listen({ host, port }, () => {
        this.server.off('error', fail)
        resolve()
      })
    })
  }

  /** From the next request on, this list answers. */
  adopt(listener: Listener, handler: Handler, upgrades = false): void {
    this.handler = handler
    this.maxConnections = listener.maxConnections ?? Number.POSITIVE_INFINITY
    this.server.headersTimeout = listener.headersTimeout ?? HEADERS_TIMEOUT
    this.server.keepAliveTimeout = listener.keepAliveTimeout ?? KEEP_ALIVE_TIMEOUT
    if (upgrades) takeUpgrades(this.server, this.answer)
    else ignoreUpgrades(this.server)
  }

  get url(): string {
    const { address, family, port } = this.server.address() as AddressInfo
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
  }

  /** Whether it stands at this very address, however that is spelled, such as `localhost`. */
  async isAt(address: string): Promise<boolean> {
    const { host, port } = hostAndPort(address)
    const { address: resolved, family } = await lookup(host).catch(() => ({ address: host, family: 4 }))
    const url = `http://${family === 6 ? `[${resolved}]` : resolved}:${port}`
    return URL.canParse(url) && new URL(url).href === new URL(this.url).href
  }

  /** Takes no new connections. Idle ones end now, busy ones with their answer. */
  shut(): void {
    this.closed ??= new Promise((resolve) => this.server.close(() => resolve()))
    this.server.closeIdleConnections()
  }

  /** Ends what is still open, and returns when the port is free again. */
  async destroy(): Promise<void> {
    this.shut()
    // Not only what Node knows of: an upgraded socket is no longer among its connections.
    for (const socket of this.sockets) socket.destroy()
    await this.closed
  }

  /**
   * Node takes a connection for idle as soon as its answer was handed over, and on closing would cut off what
   * a slow client has not read yet. `close` goes by this method too.
   */
  private spareTheSending(): void {
    const closeIdle = this.server.closeIdleConnections.bind(this.server)
    this.server.closeIdleConnections = () => {
      const busy = (socket: Socket): boolean => socket.writableLength > 0 || messageOf(socket) !== null
      if (![...this.sockets].some((socket) => socket.writableLength > 0)) closeIdle()
      else for (const socket of this.sockets) if (!busy(socket)) socket.destroy()
    }
  }

  /** Stands between the port and Node's reader of HTTP: whoever finds the house full is told so. */
  private countSockets(): void {
    const readers = this.server.listeners('connection')
    this.server.removeAllListeners('connection')
    this.server.on('connection', (socket: Socket) => {
      if (!this.sockets.has(socket)) {
        this.sockets.add(socket)
        socket.once('close', () => this.sockets.delete(socket))
        if (this.inside >= this.maxConnections) {
          // Those who are being told may not be many either.
          if (this.sockets.size > 2 * this.maxConnections) socket.destroy()
          else turnAway(socket)
          return
        }
        this.inside++
        socket.once('close', () => this.inside--)
      }
      for (const read of readers) read.call(this.server, socket)
    })
  }
}

// Between opening a door and giving it to a list lie the list's last steps.
const notYet: Handler = (_request, response) => {
  response.writeHead(503, { 'retry-after': '1', connection: 'close' }).end()
}

const refuseHeaders: Handler = (_request, response) => {
  response
    .writeHead(431, { 'content-type': 'application/json', connection: 'close' })
    .end('{"error":"invalid_request","error_description":"there are more headers than are taken"}')
}

function hostAndPort(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(address.slice(colon + 1)) }
}

function cannotListen(address: string, { code }: NodeJS.ErrnoException): ConfigError {
  const message =
    code === 'EADDRINUSE'
      ? 'the port is taken: stop what listens there, or choose another'
      : code === 'EACCES'
        ? 'this user may not listen there: choose a port above 1023'
        : `cannot listen there (${code ?? 'unknown reason'})`
  return new ConfigError([{ place: `address ${address}`, message }])
}

const STATUS_OF: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/** What is sent in the meantime is read and dropped: unread bytes would make the system reset the connection. */
function turnAway(socket: Socket): void {
  socket.on('error', () => socket.destroy())
  socket.resume()
  socket.setTimeout(LINGER, () => socket.destroy())
  answerPlainly(
    socket,
    '503 Service Unavailable',
    'busy',
    'there are as many connections as are allowed',
    'Retry-After: 1\r\n',
  )
}

function answerPlainly(socket: Socket, status: string, error: string, sentence: string, more = ''): void {
  const body = JSON.stringify({ error, error_description: sentence })
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${more}Connection: close\r\n\r\n${body}`,
  )
}

/** The answer that a connection is sending. Node tells it to nobody, and an error or a stop has to know. */
const messageOf = (socket: Socket): ServerResponse | null => Reflect.get(socket, '_httpMessage') ?? null

/** Bytes that are no HTTP never reach a list, so they are answered here; but never in the middle of an answer. */
function refuseGarbage(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || messageOf(socket)?.headersSent === true) {
    socket.destroy()
    return
  }
  const status = STATUS_OF[error.code ?? ''] ?? '400 Bad Request'
  answerPlainly(socket, status, 'invalid_request', 'this is not HTTP that can be answered')
}
