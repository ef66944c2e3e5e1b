import type { FastifyRequest } from 'fastify'
import { Refusal } from 'sallyport'
import { ExpiringMap, networkOf } from 'sallyport/toolkit'

const MINUTE = 60_000

/** How much one network may do in a minute without having signed in. */
const MOST = {
  registration: 60,
  authorization: 120,
  document: 60,
  'failed token request': 60,
  'failed sign-in': 60,
  revocation: 60,
} as const

export type Counted = keyof typeof MOST

interface Window {
  count: number
  readonly until: number
}

/** Counts what strangers do, for each network and minute. */
export class Bounds {
  private readonly windows = new ExpiringMap<Window>(50_000)

  /** Refuses the request when its network has done this too often. */
  spend(kind: Counted, request: FastifyRequest): void {
    const window = this.window(kind, request)
    this.refuseBeyond(kind, window)
    window.count++
  }

  /** Refuses the request without counting it, for what counts only when it fails. */
  check(kind: Counted, request: FastifyRequest): void {
    this.refuseBeyond(kind, this.window(kind, request))
  }

  count(kind: Counted, request: FastifyRequest): void {
    this.window(kind, request).count++
  }

  private window(kind: Counted, { clientAddress }: FastifyRequest): Window {
    const key = `${kind} ${networkOf(clientAddress)}`
    const found = this.windows.get(key)
    if (found !== undefined) return found
    const window = { count: 0, until: Date.now() + MINUTE }
    this.windows.set(key, window, window.until)
    return window
  }

  private refuseBeyond(kind: Counted, { count, until }: Window): void {
    if (count < MOST[kind]) return
    const message = `a network may make ${MOST[kind]} requests of this kind in a minute: try again later`
    throw new Refusal(429, 'TOO_MANY_REQUESTS', message, {
      retryAfter: Math.max(1, Math.ceil((until - Date.now()) / 1000)),
    })
  }
}

const MOST_OPEN = 10_000
const MOST_OPEN_IN_NETWORK = 100

/** The /24 or /56 of an address: with one sign-in in each of many networks a stranger would push out those of others. */
const wideNetworkOf = (address: string): string =>
  address.includes('.')
    ? address.slice(0, address.lastIndexOf('.'))
    : networkOf(address).replace(
        /([\da-f]{1,4})::\/64$/,
        (_, last: string) => `${Number.parseInt(last, 16) >> 8}`,
      )

/** The sign-ins that were begun and not finished: the only thing that is stored for somebody who has not signed in. */
export class OpenSignIns {
  private readonly networks = new Map<string, Map<string, number>>()
  private count = 0

  constructor(
    private readonly lifetime: number,
    private readonly forget: (uid: string) => void,
  ) {}

  add(uid: string, { clientAddress }: Pick<FastifyRequest, 'clientAddress'>): void {
    this.dropExpired()
    const network = wideNetworkOf(clientAddress)
    const open = this.networks.get(network) ?? new Map<string, number>()
    this.networks.set(network, open)
    open.set(uid, Date.now() + this.lifetime)
    this.count++
    if (open.size > MOST_OPEN_IN_NETWORK) this.dropOldestOf(network)
    else if (this.count > MOST_OPEN) this.dropOldestOf(this.largest())
  }

  private dropExpired(): void {
    const now = Date.now()
    for (const [network, open] of this.networks) {
      for (const [uid, until] of open) {
        // In the order in which they were begun.
        if (until > now) break
        this.remove(network, uid)
      }
    }
  }

  private dropOldestOf(network: string): void {
    const [oldest] = this.networks.get(network)?.keys() ?? []
    if (oldest === undefined) return
    this.remove(network, oldest)
    this.forget(oldest)
  }

  private largest(): string {
    let found = { network: '', size: 0 }
    for (const [network, { size }] of this.networks) if (size > found.size) found = { network, size }
    return found.network
  }

  private remove(network: string, uid: string): void {
    const open = this.networks.get(network)
    if (open?.delete(uid) !== true) return
    this.count--
    if (open.size === 0) this.networks.delete(network)
  }
}
