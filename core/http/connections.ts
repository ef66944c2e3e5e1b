import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { currentResponse } from './current-response.js'
import { hasUntrustedCertificate } from './tls-server.js'
import { UnreadResponses } from './unread-responses.js'

/** The connections of one port: limits their number, and closes the idle ones on a stop. */
export class Connections {
  max = Number.POSITIVE_INFINITY
  /** Every accepted socket, those in a TLS handshake too. */
  private readonly accepted = new Set<Socket>()
  private readonly byPeer = new Map<string, Socket>()
  /** The sockets that have finished their handshake. */
  private readonly sockets = new Set<Socket>()
  private readonly refused = new Set<Socket>()
  readonly unread: UnreadResponses

  constructor(
    private readonly server: Server,
    private readonly isTls: boolean,
    private readonly refuse: (socket: Socket) => void,
    unreadEnded: (connections: number, bytes: number) => void,
  ) {
    this.unread = new UnreadResponses(this.sockets, unreadEnded)
    // Node's own listeners run first, so a refused socket has a parser already: see `isRefused`.
    if (isTls) {
      server.on('connection', (socket) => this.accept(socket))
      server.on('secureConnection', (socket: TLSSocket) => {
        if (this.isTrusted(socket)) this.admit(socket)
      })
    } else server.on('connection', (socket) => this.admit(socket))
    this.keepUnsentResponses()
  }

  /** Whether the socket has finished its handshake, and is still open. */
  has(socket: Socket): boolean {
    return this.sockets.has(socket)
  }

  /** Whether the socket was refused with a 503: its requests get no further response. */
  isRefused(socket: Socket): boolean {
    return this.refused.size > 0 && this.refused.has(socket)
  }

  /** The TCP socket below a TLS socket whose handshake failed: plain bytes can still be written to it. */
  tcpSocketOf(socket: Socket): Socket | undefined {
    return this.byPeer.get(peerOf(socket))
  }

  /** Not `closeAllConnections`: an upgraded socket is no longer among Node's connections. */
  destroy(): void {
    for (const socket of this.isTls ? this.accepted : this.sockets) socket.destroy()
  }

  /** Allows as many handshakes as connections, and destroys each further socket without a response. */
  private accept(socket: Socket): void {
    if (this.accepted.size >= 2 * this.max) {
      socket.destroy()
      return
    }
    const peer = peerOf(socket)
    this.accepted.add(socket)
    this.byPeer.set(peer, socket)
    socket.once('close', () => {
      this.accepted.delete(socket)
      this.byPeer.delete(peer)
    })
  }

  private isTrusted(socket: TLSSocket): boolean {
    const isTrusted = !hasUntrustedCertificate(socket)
    if (!isTrusted) this.server.emit('tlsClientError', new Error('untrusted client certificate'), socket)
    return isTrusted
  }

  /** Connections beyond the limit get a 503. */
  private admit(socket: Socket): void {
    // `handleUpgrades` emits the event a second time for a socket that it has parsed again.
    if (this.sockets.has(socket)) return
    this.sockets.add(socket)
    socket.once('close', () => {
      this.sockets.delete(socket)
      this.refused.delete(socket)
    })
    if (this.sockets.size - this.refused.size <= this.max) return
    this.refused.add(socket)
    // Connections that are being refused are limited in number too.
    if (this.sockets.size > 2 * this.max) socket.destroy()
    else this.refuse(socket)
  }

  /**
   * Node counts a connection as idle as soon as its response is in the socket's buffer, and would cut off the part that
   * a slow client has not read yet. `server.close` calls `closeIdleConnections` too.
   */
  private keepUnsentResponses(): void {
    const closeIdle = this.server.closeIdleConnections.bind(this.server)
    this.server.closeIdleConnections = () => {
      const busy = (socket: Socket): boolean => socket.writableLength > 0 || currentResponse(socket) !== null
      if (![...this.sockets].some((socket) => socket.writableLength > 0)) closeIdle()
      else for (const socket of this.sockets) if (!busy(socket)) socket.destroy()
    }
  }
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`
