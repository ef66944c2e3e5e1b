import { networkOf } from './client-network.js'

// Sending may cost callers nothing: with more requests at once, they could flood a provider through the gateway.
const MAX_ACTIVE = 256
const MAX_QUEUED = 256
// So that no client uses up the active requests or the queue. All callers behind a proxy that is not trusted share
// this limit.
const MAX_PER_CLIENT = 64
const MAX_WAIT = 2_000

interface QueuedRequest {
  readonly client: string
  readonly start: (release: () => void) => void
}

/** Limits the concurrent requests to a provider, in total and by client, with a short queue. */
export class ConcurrencyLimit {
  private readonly active = new Map<string, number>()
  private readonly queue = new Set<QueuedRequest>()
  private total = 0

  /**
   * Admits a request for a client, by its address or name, until the returned function is called; `undefined` when
   * no slot becomes free in time.
   */
  acquire(addressOrName: string): (() => void) | Promise<(() => void) | undefined> | undefined {
    const client = networkOf(addressOrName)
    if (this.total < MAX_ACTIVE && this.activeOf(client) < MAX_PER_CLIENT) return this.start(client)
    let queued = 0
    for (const each of this.queue) if (each.client === client) queued++
    return this.queue.size < MAX_QUEUED && queued < MAX_PER_CLIENT ? this.enqueue(client) : undefined
  }

  private enqueue(client: string): Promise<(() => void) | undefined> {
    return new Promise((resolve) => {
      const request: QueuedRequest = {
        client,
        start: (release) => {
          clearTimeout(timer)
          resolve(release)
        },
      }
      const timer = setTimeout(() => {
        this.queue.delete(request)
        resolve(undefined)
      }, MAX_WAIT)
      this.queue.add(request)
    })
  }

  private start(client: string): () => void {
    this.total++
    this.active.set(client, this.activeOf(client) + 1)
    return () => {
      this.total--
      const left = this.activeOf(client) - 1
      if (left > 0) this.active.set(client, left)
      else this.active.delete(client)
      this.startNext()
    }
  }

  /** Starts the oldest queued request of the clients that have the fewest active requests. */
  private startNext(): void {
    let next: QueuedRequest | undefined
    let fewest = MAX_PER_CLIENT
    for (const request of this.queue) {
      const active = this.activeOf(request.client)
      if (active >= fewest) continue
      next = request
      fewest = active
    }
    if (next === undefined) return
    this.queue.delete(next)
    next.start(this.start(next.client))
  }

  private activeOf(client: string): number {
    return this.active.get(client) ?? 0
  }
}
