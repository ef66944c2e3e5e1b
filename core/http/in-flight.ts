import type { ServerResponse } from 'node:http'

const LISTENED = Symbol('listened')

/**
 * Says of an answer under way that it lasts as long as somebody listens: an event stream or a tunnel that a
 * handler writes past Fastify. A stop does not wait for it, as its end is the caller's to choose.
 */
export function lastsWhileListened(response: ServerResponse): void {
  Reflect.set(response, LISTENED, true)
}

/** The requests that a list is answering right now. */
export class InFlight {
  private readonly responses = new Set<ServerResponse>()
  private settled: (() => void) | undefined
  private draining = false

  // One function for all requests: it finds its response in `this`.
  private readonly leave: (this: ServerResponse) => void

  constructor() {
    const flight = this
    this.leave = function (this: ServerResponse): void {
      flight.responses.delete(this)
      flight.check()
    }
  }

  enter(response: ServerResponse): void {
    this.responses.add(response)
    response.on('close', this.leave)
    if (this.draining) response.shouldKeepAlive = false
  }

  get size(): number {
    return this.responses.size
  }

  /**
   * Waits until every request has its answer, at most `limit` milliseconds, and then ends what is left. Event
   * streams that a client merely listens to would never end by themselves; they are not waited for.
   */
  async drain(limit: number): Promise<void> {
    this.draining = true
    for (const response of this.responses) {
      if (!response.headersSent) response.shouldKeepAlive = false
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limit)
      this.settled = () => {
        clearTimeout(timer)
        resolve()
      }
      this.check()
    })
    for (const response of this.responses) response.destroy()
  }

  private check(): void {
    if (this.settled === undefined) return
    for (const response of this.responses) {
      if (!isListening(response)) return
    }
    this.settled()
  }
}

// A GET that answers with events is somebody listening. A POST that does is a call still being answered.
function isListening(response: ServerResponse): boolean {
  if (Reflect.has(response, LISTENED)) return true
  if (!response.headersSent || response.req.method !== 'GET') return false
  return String(response.getHeader('content-type') ?? '').startsWith('text/event-stream')
}
