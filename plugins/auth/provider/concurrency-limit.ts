import ipaddr from 'ipaddr.js'

// Made-up opaque tokens cost nothing: with more requests at once, callers could flood the provider through the gateway.
const MAX_ACTIVE = 256
const MAX_QUEUED = 256
// So that no address uses up either. All callers behind a proxy that is not trusted share this.
const MAX_PER_CLIENT = 64
const MAX_WAIT = 2_000

interface QueuedRequest {
  readonly client: string
  readonly start: (release: () => void) => void
}

/** Limits the concurrent requests to a provider, in total and by client address, with a short queue. */
export class ConcurrencyLimit {
  private readonly active = new Map<string, number>()
  private readonly queue = new Set<QueuedRequest>()
  private total = 0

  /** Admits a request for a caller of this address, until the result is called; `undefined` when it is not admitted in time. */
  acquire(address: string): (() => void) | Promise<(() => void) | undefined> | undefined {
    const client = clientOf(address)
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

  /** Starts the queued request whose client has the fewest active ones, of these the oldest. */
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

/** An IPv6 client is its /64 prefix: all of its addresses belong to one host. */
function clientOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const ip = ipaddr.process(address)
  return ip.kind() === 'ipv4' ? ip.toString() : ip.toByteArray().slice(0, 8).join('.')
}
