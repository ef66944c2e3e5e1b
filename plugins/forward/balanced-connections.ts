import type { FastifyReplyFromOptions } from '@fastify/reply-from'
import type { Dispatcher } from 'undici'
import type { ForwarderSettings } from './options.js'
import type { PlainHttpGuard } from './plain-http-guard.js'
import type { TargetTls } from './target-tls.js'

const CONNECT_TIMEOUT = 10_000

type Settings = ForwarderSettings & { readonly http2: boolean }

/** What opens the connections to the replicas. */
export interface ConnectionParts {
  readonly plainHttp: PlainHttpGuard | undefined
  readonly tls: TargetTls | undefined
  /** The outgoing proxy. */
  readonly proxy: string | undefined
}

/** The connections of @fastify/reply-from: options of undici. */
export async function connectionsFor(
  { http2, targetTimeout }: Settings,
  { plainHttp, tls, proxy }: ConnectionParts,
): Promise<FastifyReplyFromOptions['undici']> {
  const common = {
    // reply-from would allow 128, and each open event stream is one.
    connections: null,
    // reply-from verifies no certificate by default.
    tls: { rejectUnauthorized: true },
    headersTimeout: targetTimeout,
    bodyTimeout: 0,
    allowH2: http2,
  }
  if (tls !== undefined) return renewed(common, tls, proxy)
  const connect = { timeout: CONNECT_TIMEOUT, ...(plainHttp !== undefined && { lookup: plainHttp.lookup }) }
  return { ...common, connect, ...(proxy !== undefined && { proxy }) } as object
}

/** With other certificates there are other connections: those in use end with their requests. */
async function renewed(common: object, tls: TargetTls, proxy: string | undefined): Promise<Dispatcher> {
  const { default: undici } = await import('undici')
  const open = (): Dispatcher => {
    const connect = { timeout: CONNECT_TIMEOUT, secureContext: tls.secureContext }
    return proxy === undefined
      ? new undici.Agent({ ...common, connect })
      : new undici.ProxyAgent({ ...common, uri: proxy, requestTls: connect })
  }
  class RenewedDispatcher extends undici.Dispatcher {
    private current = open()
    private readonly retired = new Set<Dispatcher>()

    constructor() {
      super()
      tls.onChange(() => this.renew())
    }

    override dispatch(...call: Parameters<Dispatcher['dispatch']>): boolean {
      return this.current.dispatch(...call)
    }

    override async destroy(): Promise<void> {
      await Promise.all([this.current, ...this.retired].map((dispatcher) => dispatcher.destroy()))
    }

    private renew(): void {
      const { current, retired } = this
      this.current = open()
      retired.add(current)
      const forget = (): void => void retired.delete(current)
      current.close().then(forget, forget)
    }
  }
  return new RenewedDispatcher()
}
