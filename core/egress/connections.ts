import { Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import { ProxyTunnels } from './proxy-tunnels.js'
import { lookupBy, publicLookup, type Resolve } from './resolve.js'

/** The type of the package as `import()` returns it: it is not ESM. */
export type Undici = typeof import('undici').default

type Connector = ReturnType<Undici['buildConnector']>

export interface ConnectionOptions {
  /** PEM certificates to trust instead of Node's. */
  readonly authorities: string | undefined
  readonly allowPrivate: boolean
  readonly resolve: Resolve
  /** Milliseconds that opening a connection may take. */
  readonly timeout: number
}

/**
 * The open connections of one fetcher. It keeps track of every socket that it opened, so that `close` leaves none.
 */
export class Connections {
  private readonly sockets = new Set<Socket>()
  private readonly dispatchers = new Map<string | undefined, Dispatcher>()
  private readonly tunnels: ProxyTunnels[] = []

  constructor(
    private readonly undici: Undici,
    private readonly options: ConnectionOptions,
  ) {}

  /** The dispatcher for requests through `proxy`, or for direct ones. */
  dispatcherFor(proxy: string | undefined): Dispatcher {
    const open = this.dispatchers.get(proxy)
    if (open !== undefined) return open
    const created = proxy === undefined ? this.direct() : this.viaProxy(proxy)
    this.dispatchers.set(proxy, created)
    return created
  }

  /** Closes the connections after the requests in flight have their responses. */
  async retire(): Promise<void> {
    await Promise.all([...this.dispatchers.values()].map((dispatcher) => dispatcher.close()))
  }

  /** Closes the connections at once. */
  async close(): Promise<void> {
    await Promise.all([...this.dispatchers.values()].map((dispatcher) => dispatcher.destroy()))

    // A socket that is still connecting belongs to no dispatcher yet, and would stay until its own timeout.
    for (const socket of this.sockets) socket.destroy()
    for (const tunnels of this.tunnels) tunnels.close()
  }

  private direct(): Dispatcher {
    const { authorities, allowPrivate, resolve, timeout } = this.options
    const connect = this.undici.buildConnector({
      ca: authorities,
      timeout,
      lookup: allowPrivate ? lookupBy(resolve) : publicLookup(resolve),
      // The 250 ms that Node gives an address before it tries the next are too few for a distant one.
      autoSelectFamilyAttemptTimeout: 1_000,
    })
    return new this.undici.Agent({ connect: this.tracked(connect) })
  }

  private viaProxy(proxy: string): Dispatcher {
    // The operator chose the proxy: its address may be private, and its own certificate is verified with Node's
    // authorities.
    const tunnels = new ProxyTunnels(proxy, this.options)
    this.tunnels.push(tunnels)
    return new this.undici.Agent({ connect: (to, callback) => void tunnels.open(to, callback) })
  }

  private tracked(connect: Connector): Connector {
    return (options, callback) => {
      // The types leave out that a connector returns the socket it opens.
      const socket: unknown = connect(options, callback)
      if (!(socket instanceof Socket)) return
      this.sockets.add(socket)
      socket.once('close', () => this.sockets.delete(socket))
    }
  }
}
