import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { currentResponse } from './current-response.js'
import { hasUntrustedCertificate } from './tls-server.js'
import { UnreadResponses } from './unread-responses.js'

/** The connections of one port: how many there may be, and which of them are busy. */
export class Connections {
  max = Number.POSITIVE_INFINITY
  /** Every accepted socket, those in a TLS handshake too. */
  private readonly accepted = new Set<Socket>()
  private readonly byPeer = new Map<string, Socket>()
  /** Those on which HTTP is spoken, or a refusal is sent. */
  private readonly sockets = new Set<Socket>()
  private readonly refused = new Set<Socket>()
  private readonly unread: UnreadResponses

  constructor(
    private readonly server: Server,
    private readonly isTls: boolean,
    private readonly refuse: (socket: Socket) => void,
    unreadEnded: (connections: number, bytes: number) => void,
  ) {
    this.unread = new UnreadResponses(this.sockets, unreadEnded)
    // Node's own listeners come first: a parser is there already, and what it reads of a refused socket is not handled.
    if (isTls) {
      server.on('connection', (socket) => this.accept(socket))
      server.on('secureConnection', (socket: TLSSocket) => {
        if (this.isTrusted(socket)) this.admit(socket)
      })
    } else server.on('connection', (socket) => this.admit(socket))
    this.keepUnsentResponses()
  }

  /** Whether HTTP is spoken on it: not before its handshake, and not after its end. */
  has(socket: Socket): boolean {
    return this.sockets.has(socket)
  }

  /** Whether it has got its refusal: what is asked there gets no further response. */
  isRefused(socket: Socket): boolean {
    return this.refused.size > 0 && this.refused.has(socket)
  }

  /** The socket below one that failed in its handshake: plain bytes can still be written there. */
  below(socket: Socket): Socket | undefined {
    return this.byPeer.get(peerOf(socket))
  }

  /** Not `closeAllConnections`: an upgraded socket is no longer among Node's connections. */
  destroy(): void {
    for (const socket of this.isTls ? this.accepted : this.sockets) socket.destroy()
  }

  /** As many handshakes are allowed as connections: what is beyond that gets no response. */
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
    // It is parsed again: see `handleUpgrades`.
    if (this.sockets.has(socket)) return
    this.sockets.add(socket)
    this.unread.watch()
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
   * Node counts a connection as idle as soon as its response was written to the socket's buffer, and on closing would
   * cut off what a slow client has not read yet. `server.close` calls this method too.
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
