import type { ServerResponse } from 'node:http'
import { waitAtMost } from '../toolkit/deadline.js'

const EXCLUDED = Symbol('excluded from drain')

/**
 * Marks a response that lasts until the client ends it, such as an event stream or an upgraded connection that a
 * handler writes without Fastify. A stop does not wait for it.
 */
export function excludeFromDrain(response: ServerResponse): void {
  Reflect.set(response, EXCLUDED, true)
}

const POLL_INTERVAL = 100
// Milliseconds for connections to close after they were cut off.
const CLOSE_LIMIT = 1_000

/** A list's requests that have no complete response yet. */
export class InFlight {
  private readonly responses = new ResponseList()
  private readonly pending = new Set<Promise<unknown>>()
  private closing = false

  // One function for all: each finds its response in `this`.
  private readonly remove: (this: ServerResponse) => void

  constructor() {
    const { responses } = this
    this.remove = function (this: ServerResponse): void {
      responses.delete(this)
    }
  }

  add(response: ServerResponse): void {
    this.responses.add(response)
    response.on('close', this.remove)
    if (this.closing) response.shouldKeepAlive = false
  }

  /** For requests without a socket, such as `dispatch`. */
  async track<T>(work: Promise<T>): Promise<T> {
    this.pending.add(work)
    try {
      return await work
    } finally {
      this.pending.delete(work)
    }
  }

  get size(): number {
    return this.responses.size + this.pending.size
  }

  /** A copy of the list. Requests without a socket are not in it. */
  get open(): readonly ServerResponse[] {
    return this.responses.all()
  }

  /** Turns off keep-alive, as the port is closing. */
  endKeepAlive(): void {
    this.closing = true
    for (const response of this.responses.all()) if (!response.headersSent) response.shouldKeepAlive = false
  }

  /**
   * Waits until every request has its response, at most `limit` milliseconds or until the signal aborts. It does not
   * wait for event streams, which never end by themselves.
   */
  async drain(limit: number, signal?: AbortSignal): Promise<void> {
    const end = performance.now() + limit
    while (performance.now() < end && this.mustWait && signal?.aborted !== true)
      await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL))
  }

  /**
   * Destroys the remaining responses, and waits for their `close`: observers need it, and plugins may stop after that.
   */
  async cutOff(): Promise<void> {
    const left = this.responses.all()
    const closed = left.map((response) => new Promise<void>((resolve) => response.once('close', resolve)))
    for (const response of left) response.destroy()
    await waitAtMost(CLOSE_LIMIT, Promise.all(closed))
  }

  /** Whether any request will end by itself. */
  get mustWait(): boolean {
    return this.pending.size > 0 || this.responses.all().some((response) => !isExcluded(response))
  }
}

// The event stream of a GET does not end by itself. The one of a POST ends with the answer to the call.
function isExcluded(response: ServerResponse): boolean {
  if (Reflect.has(response, EXCLUDED)) return true
  if (!response.headersSent || response.req.method !== 'GET') return false
  return String(response.getHeader('content-type') ?? '').startsWith('text/event-stream')
}

const INDEX = Symbol('index')

type Listed = ServerResponse & { [INDEX]?: number | undefined }

/**
 * Responses in flight. Not a `Set`: with one that changes at every request, a scavenge of V8 takes 10 ms instead of 2.
 */
export class ResponseList {
  private readonly responses: Listed[] = []

  add(response: Listed): void {
    response[INDEX] = this.responses.length
    this.responses.push(response)
  }

  delete(response: Listed): void {
    const { [INDEX]: index } = response
    if (index === undefined) return
    const last = this.responses.pop()
    if (last !== undefined && last !== response) {
      this.responses[index] = last
      last[INDEX] = index
    }
    response[INDEX] = undefined
  }

  get size(): number {
    return this.responses.length
  }

  /** A copy: responses may end while the caller iterates. */
  all(): readonly ServerResponse[] {
    return [...this.responses]
  }
}
