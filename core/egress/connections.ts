import type { Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import { ProxyTunnels } from './proxy-tunnels.js'
import { guardedLookup, publicLookup, type Resolve } from './resolve.js'
import type { Undici } from './undici.js'

type Connector = ReturnType<Undici['buildConnector']>

export interface Reach {
  /** The only authorities to trust, in place of the ones that come with Node. */
  readonly authorities: string | undefined
  readonly allowPrivate: boolean
  readonly resolve: Resolve
  /** Milliseconds that opening a connection may take. */
  readonly timeout: number
}

/** The open connections of one fetcher. It knows every socket it opened, so that closing leaves none. */
export class Connections {
  readonly #undici: Undici
  readonly #reach: Reach
  readonly #sockets = new Set<Socket>()
  readonly #dispatchers = new Map<string | undefined, Dispatcher>()
  readonly #tunnels: ProxyTunnels[] = []

  constructor(undici: Undici, reach: Reach) {
    this.#undici = undici
    this.#reach = reach
  }

  /** The dispatcher for requests through `proxy`, or for direct ones. */
  through(proxy: string | undefined): Dispatcher {
    const open = this.#dispatchers.get(proxy)
    if (open !== undefined) return open
    const created = proxy === undefined ? this.#direct() : this.#tunnelled(proxy)
    this.#dispatchers.set(proxy, created)
    return created
  }

  /** Ends them when the requests that run have their answers. */
  async retire(): Promise<void> {
    await Promise.all([...this.#dispatchers.values()].map((dispatcher) => dispatcher.close()))
  }

  /** Ends them now. */
  async close(): Promise<void> {
    await Promise.all([...this.#dispatchers.values()].map((dispatcher) => dispatcher.destroy()))

    // A socket that is still connecting belongs to nobody yet, and would live until its own time is up.
    for (const socket of this.#sockets) socket.destroy()
    for (const tunnels of this.#tunnels) tunnels.close()
  }

  #direct(): Dispatcher {
    const { authorities, allowPrivate, resolve, timeout } = this.#reach
    const connect = this.#undici.buildConnector({
      ca: authorities,
      timeout,
      lookup: allowPrivate ? guardedLookup(resolve) : publicLookup(resolve),
      // The 250 ms that Node gives an address before it tries the next are too few for a distant one.
      autoSelectFamilyAttemptTimeout: 1_000,
    })
    return new this.#undici.Agent({ connect: this.#tracked(connect) })
  }

  #tunnelled(proxy: string): Dispatcher {
    // The operator chose the proxy: it may be private, and its own certificate is judged by Node's authorities.
    const tunnels = new ProxyTunnels(proxy, this.#reach)
    this.#tunnels.push(tunnels)
    return new this.#undici.Agent({ connect: (to, tunnelled) => void tunnels.open(to, tunnelled) })
  }

  #tracked(connect: Connector): Connector {
    return (options, callback) => {
      // The types leave out that a connector returns the socket it opens.
      const socket: unknown = connect(options, callback)
      if (!isSocket(socket)) return
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    }
  }
}

function isSocket(value: unknown): value is Socket {
  return typeof value === 'object' && value !== null && 'destroy' in value
}
