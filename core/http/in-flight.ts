import type { ServerResponse } from 'node:http'
import { waitAtMost } from '../toolkit/deadline.js'

const EXCLUDED = Symbol('excluded from drain')

/**
 * Marks a response that lasts until the client ends it: an event stream or an upgraded connection that a handler writes
 * without Fastify. A stop does not wait for it.
 */
export function excludeFromDrain(response: ServerResponse): void {
  Reflect.set(response, EXCLUDED, true)
}

const POLL_INTERVAL = 100
// Milliseconds that connections which were cut off get to close.
const CLOSE_LIMIT = 1_000

/** The requests of a list that have no complete response yet. */
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

  /** The port closes: keep-alive is turned off. */
  endKeepAlive(): void {
    this.closing = true
    for (const response of this.responses.all()) if (!response.headersSent) response.shouldKeepAlive = false
  }

  /**
   * Waits until every request has its response, at most `limit` milliseconds. Event streams would never end by themselves;
   * they are not waited for. The signal ends it.
   */
  async drain(limit: number, signal?: AbortSignal): Promise<void> {
    const end = performance.now() + limit
    while (performance.now() < end && this.mustWait && signal?.aborted !== true)
      await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL))
  }

  /** Ends what is left. Observers are told of a request when its response has closed, and plugins may stop after that. */
  async cutOff(): Promise<void> {
    const left = this.responses.all()
    const closed = left.map((response) => new Promise<void>((resolve) => response.once('close', resolve)))
    for (const response of left) response.destroy()
    await waitAtMost(CLOSE_LIMIT, Promise.all(closed))
  }

  /** Whether a request is there that will have an end of its own. */
  get mustWait(): boolean {
    return this.pending.size > 0 || this.responses.all().some((response) => !isExcluded(response))
  }
}

// An event stream of a GET has no end of its own. One of a POST ends with the response to the call.
function isExcluded(response: ServerResponse): boolean {
  if (Reflect.has(response, EXCLUDED)) return true
  if (!response.headersSent || response.req.method !== 'GET') return false
  return String(response.getHeader('content-type') ?? '').startsWith('text/event-stream')
}

const INDEX = Symbol('index')

type Listed = ServerResponse & { [INDEX]?: number | undefined }

/**
 * Responses that come and go with every request. No `Set`: V8 replaces the table of one that changes all the time, and each
 * table refers to the one that replaced it. Once one of them is old, all that was in the later ones stays until the next
 * full collection, and a scavenge takes 10 ms in place of 2.
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

  /** A copy: they may go while somebody looks at them. */
  all(): readonly ServerResponse[] {
    return [...this.responses]
  }
}
