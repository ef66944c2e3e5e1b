import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Crowd } from '../crowd.js'

const LISTENED = Symbol('listened')

/**
 * Says of an answer under way that it lasts as long as somebody listens: an event stream or a tunnel that a
 * handler writes past Fastify. A stop does not wait for it, as its end is the caller's to choose.
 */
export function lastsWhileListened(response: ServerResponse): void {
  Reflect.set(response, LISTENED, true)
}

// Requests that one connection may send ahead while an earlier one waits for its answer.
const MOST_AHEAD = 64
const LOOK_EVERY = 100

/** The requests that a list is answering right now. */
export class InFlight {
  private readonly responses = new Crowd<ServerResponse>()
  private readonly others = new Set<Promise<unknown>>()
  private readonly ahead = new Map<Socket, Set<ServerResponse>>()
  private closing = false

  // One function for all requests: it finds its response in `this`.
  private readonly leave: (this: ServerResponse) => void

  constructor() {
    const flight = this
    this.leave = function (this: ServerResponse): void {
      flight.responses.leave(this)
      flight.ahead.get(this.req.socket)?.delete(this)
    }
  }

  enter(response: ServerResponse): void {
    this.responses.enter(response)
    response.on('close', this.leave)
    if (response.socket === null) this.queue(response)
    if (this.closing) response.shouldKeepAlive = false
  }

  /** Work that is no request on a socket. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.others.add(work)
    try {
      return await work
    } finally {
      this.others.delete(work)
    }
  }

  get size(): number {
    return this.responses.size + this.others.size
  }

  /**
   * Waits until every request has its answer, at most `limit` milliseconds, and then ends what is left. Streams
   * that a client merely listens to would never end by themselves; they are not waited for. When the door is
   * `closing` too, callers are told not to come back on the same connection.
   */
  async drain(limit: number, closing: boolean): Promise<void> {
    this.closing = closing
    for (const response of this.responses.now()) {
      if (closing && !response.headersSent) response.shouldKeepAlive = false
    }
    const end = Date.now() + limit
    while (Date.now() < end && this.awaited()) await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY))
    for (const response of this.responses.now()) response.destroy()
  }

  private awaited(): boolean {
    return this.others.size > 0 || this.responses.now().some((response) => !isListening(response))
  }

  /**
   * A request that was sent ahead has no socket yet. When the connection ends before its turn, Node 20 never
   * closes its answer, so whoever waits for that would wait for ever.
   */
  private queue(response: ServerResponse): void {
    const { socket } = response.req
    let waiting = this.ahead.get(socket)
    if (waiting === undefined) {
      waiting = new Set()
      this.ahead.set(socket, waiting)
      socket.once('close', () => this.abandon(socket))
    }
    waiting.add(response)
    if (waiting.size > MOST_AHEAD) socket.destroy()
  }

  private abandon(socket: Socket): void {
    const waiting = [...(this.ahead.get(socket) ?? [])]
    this.ahead.delete(socket)
    for (const response of waiting) {
      if (this.responses.has(response)) response.emit('close')
    }
  }
}

// A GET that answers with events is somebody listening. A POST that does is a call still being answered.
function isListening(response: ServerResponse): boolean {
  if (Reflect.has(response, LISTENED)) return true
  if (!response.headersSent || response.req.method !== 'GET') return false
  return String(response.getHeader('content-type') ?? '').startsWith('text/event-stream')
}
