import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { GatewayError } from '../contract/errors.js'
import { CountedResponse } from './counted-response.js'
import { endSocket } from './end-socket.js'
import type { Handler } from './handler.js'

// A WebSocket client waits for the response before it sends anything (RFC 6455, 4.1), so the gateway buffers little.
const MAX_EARLY_BYTES = 64 * 1024

const PENDING = Symbol('pending upgrade')

interface UpgradeRequest extends IncomingMessage {
  [PENDING]?: PendingUpgrade | undefined
}

/**
 * The socket of a request to upgrade, until a handler takes it. Node no longer reads the socket, and only a reader
 * notices that the client has ended it, so this class reads it. The socket leaves this state in one of these ways:
 *
 * - A handler takes it, with the bytes that have arrived so far. From then on it belongs to the handler.
 * - An ordinary response begins, such as a refusal: bytes that arrive are dropped, and the socket ends after the
 *   response.
 * - The client ends it. Then it is closed, as with an ordinary request, whether the response has begun or not.
 * - The client sends more than the buffer takes, or the connection fails: it is destroyed.
 *
 * In each case the response emits `close`.
 */
export class PendingUpgrade {
  private readonly socket: Socket
  private readonly response: CountedResponse
  private early: Buffer[] = []
  private size = 0

  constructor(
    private readonly request: UpgradeRequest,
    head: Buffer,
  ) {
    this.socket = request.socket
    this.response = new CountedResponse(request)
    this.response.shouldKeepAlive = false
    this.response.assignSocket(this.socket)
    this.response.on('finish', this.finish)
    request[PENDING] = this
    if (head.length > 0) this.buffer(head)
  }

  handle(handler: Handler): void {
    this.socket.on('data', this.buffer).on('end', this.end).on('drain', this.drain)
    handler(this.request, this.response)
  }

  take(): Socket {
    const { socket, request, response, early } = this
    response.countSocket(socket)
    request[PENDING] = undefined
    socket.off('data', this.buffer).off('end', this.end).off('drain', this.drain).pause()
    // Nothing can be unshifted after `end`; the handler finds out when it writes.
    if (early.length > 0 && !socket.readableEnded) socket.unshift(Buffer.concat(early))
    return socket
  }

  private readonly buffer = (chunk: Buffer): void => {
    if (this.response.headersSent) {
      this.early = []
      return
    }
    this.size += chunk.length
    if (this.size > MAX_EARLY_BYTES) this.socket.destroy()
    else this.early.push(chunk)
  }

  private readonly end = (): void => endSocket(this.socket)

  // Node no longer handles the socket, so nothing else would emit `drain` on the response.
  private readonly drain = (): void => void this.response.emit('drain')

  private readonly finish = (): void => {
    this.response.detachSocket(this.socket)
    // A detached response gets no `close` from the socket.
    this.response.emit('close')
    endSocket(this.socket)
  }
}

/**
 * Gives a handler the socket of an upgrade: paused, with the bytes that the client has sent so far still to be read.
 * From then on the handler has to end it.
 */
export function takeSocket(request: IncomingMessage): Socket {
  const pending = (request as UpgradeRequest)[PENDING]
  if (pending === undefined) {
    throw new GatewayError(
      'CONTRACT_BROKEN',
      'takeSocket works once for each request, and only where isUpgrade is true',
    )
  }
  return pending.take()
}
