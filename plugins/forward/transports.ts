import type { LookupFunction } from 'node:net'
import type { Log } from 'sallyport'
import { ProxyTunnels, proxyChoice } from 'sallyport/toolkit'
import { BufferedTransport } from './buffered-transport.js'
import { StreamingTransport } from './streaming-transport.js'
import type { Target } from './target.js'
import type { TargetTls } from './target-tls.js'
import type { ConnectionSettings, Transport } from './transport.js'

/** Milliseconds to open a connection. */
const CONNECT_TIMEOUT = 10_000

/** The transports to one target: direct, or through the proxy that the environment sets for it. */
export class Transports {
  readonly buffered: Transport
  readonly streaming: Transport
  private readonly tunnels: ProxyTunnels | undefined

  constructor(target: Target, log: Log, lookup: LookupFunction | undefined, tls: TargetTls | undefined) {
    const timeout = CONNECT_TIMEOUT
    const proxy = proxyChoice(process.env)(new URL(target.origin))
    const secureContext = tls && (() => tls.secureContext)
    this.tunnels = proxy === undefined ? undefined : new ProxyTunnels(proxy, { timeout, secureContext })
    const connecting: ConnectionSettings = {
      timeout,
      ...(lookup !== undefined && { lookup }),
      ...(this.tunnels !== undefined && { tunnels: this.tunnels }),
      ...(tls !== undefined && { tls }),
    }
    this.buffered = new BufferedTransport(target, connecting)
    this.streaming = new StreamingTransport(target, connecting)
    if (this.tunnels === undefined) return
    const { origin } = this.tunnels
    log.info({ target: target.origin, proxy: origin }, 'requests to the target go through a proxy')
  }

  close(): void {
    this.buffered.close()
    this.streaming.close()
    this.tunnels?.close()
  }
}
