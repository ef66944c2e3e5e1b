import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { currentResponse } from './current-response.js'
import type { Handler } from './handler.js'

/** How many requests a client may send on one connection while an earlier one waits for its response. */
const MAX_WAITING = 64

interface Waiting {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/**
 * Handles the requests of a connection one after the other, each when the response before it is sent. Otherwise a
 * client that sends requests and reads nothing would make the gateway hold a response for each of them.
 */
export class PipelinedRequests {
  private readonly waiting = new WeakMap<Socket, Waiting[]>()

  constructor(private readonly handler: Handler) {}

  handle(request: IncomingMessage, response: ServerResponse): void {
    // Node gives the response a socket when its turn has come.
    if (response.socket !== null) {
      this.handler(request, response)
      return
    }
    const { socket } = request
    const waiting = this.waiting.get(socket)
    if (waiting === undefined) {
      this.waiting.set(socket, [{ request, response }])
      this.goOnAfter(currentResponse(socket), socket)
    } else waiting.push({ request, response })
    if (waiting !== undefined && waiting.length > MAX_WAITING) socket.destroy()
  }

  private goOnAfter(response: ServerResponse | null, socket: Socket): void {
    response?.once('close', () => {
      const waiting = this.waiting.get(socket) ?? []
      const next = waiting.shift()
      const isTurn = next !== undefined && next.response.socket !== null
      if (!isTurn || waiting.length === 0) this.waiting.delete(socket)
      // A response without a socket: the connection has ended, and its waiting requests with it.
      if (!isTurn) return
      if (waiting.length > 0) this.goOnAfter(next.response, socket)
      this.handler(next.request, next.response)
    })
  }
}
