import type { Dispatcher } from 'undici'
import type { ForwarderSettings } from './options.js'
import type { PlainHttpGuard } from './plain-http-guard.js'
import type { TargetTls } from './target-tls.js'

const CONNECT_TIMEOUT = 10_000
// Nothing else closes a connection of HTTP/2 that is not in use, and each request at a time has its own.
const HTTP2_LIFETIME = 60_000

type Settings = ForwarderSettings & { readonly http2: boolean }

/** What opens the connections to the replicas. */
export interface ConnectionParts {
  readonly plainHttp: PlainHttpGuard | undefined
  readonly tls: TargetTls | undefined
  /** The outgoing proxy. */
  readonly proxy: string | undefined
}

/** The connections for these settings. */
export async function connectionsFor(
  { http2, targetTimeout }: Settings,
  { plainHttp, tls, proxy }: ConnectionParts,
): Promise<BalancedConnections> {
  const { default: undici } = await import('undici')
  const common = {
    ...{ headersTimeout: targetTimeout, bodyTimeout: 0, allowH2: http2 },
    ...(http2 && { clientTtl: HTTP2_LIFETIME }),
  }
  const open = (): Dispatcher => {
    const connect = {
      timeout: CONNECT_TIMEOUT,
      ...(plainHttp !== undefined && { lookup: plainHttp.lookup }),
      ...(tls !== undefined && { secureContext: tls.secureContext }),
    }
    return proxy === undefined
      ? new undici.Agent({ ...common, connect })
      : new undici.ProxyAgent({ ...common, uri: proxy, requestTls: connect })
  }
  const connections = new BalancedConnections(open)
  tls?.onChange(() => connections.renew())
  return connections
}

export interface Sending {
  readonly signal: AbortSignal
  /** Nothing came back. */
  onFailure(error: Error): void
}

/** What @fastify/reply-from sends requests by: it calls `request`, and `destroy` at its end. */
export class BalancedConnections {
  private current: Dispatcher
  private readonly retired = new Set<Dispatcher>()
  /** About the request that is sent next: reply-from passes no signal on, logs each failure, and sends before it returns. */
  next: Sending | undefined

  constructor(private readonly open: () => Dispatcher) {
    this.current = open()
  }

  readonly request = ((options, callback) => {
    const { next } = this
    this.next = undefined
    this.current.request({ ...options, signal: next?.signal ?? null }, (error, response) => {
      if (error === null) callback(null, response)
      else next?.onFailure(error)
    })
  }) as Callback as Dispatcher['request']

  /** With other certificates there are other connections: those in use end with their requests. */
  renew(): void {
    const { current, retired } = this
    this.current = this.open()
    retired.add(current)
    const forget = (): void => void retired.delete(current)
    current.close().then(forget, forget)
  }

  async destroy(): Promise<void> {
    await Promise.all([this.current, ...this.retired].map((dispatcher) => dispatcher.destroy()))
  }
}

type Callback = (
  options: Dispatcher.RequestOptions,
  callback: (error: Error | null, response: Dispatcher.ResponseData) => void,
) => void
