import { many } from '../capability.js'

/** The certificates that a TLS port presents and trusts, as PEM text. */
interface TlsCertificates {
  /** The certificate of the server, then those of its issuers. */
  readonly cert: string
  readonly key: string
  /** The authorities that issue the certificates of callers. */
  readonly ca?: string
}

export interface ListenerTls {
  /**
   * Whether the port requests a certificate of `ca` from callers; with `require` it refuses callers that have none.
   */
  readonly clientCertificate: 'none' | 'request' | 'require'
  readonly minVersion: '1.2' | '1.3'
  /** `false`: TLS 1.2 with any cipher that Node has, also those without forward secrecy or authenticated encryption. */
  readonly modernCiphers?: boolean | undefined
  /** The current certificates. Open connections keep those with which they began. */
  readonly certificates: TlsCertificates
  /** Calls `listener` after a change of `certificates`, until the function that it returns is called. */
  onChange(listener: () => void): () => void
}

/**
 * A port for the kernel to open. The kernel owns the sockets, so that a reload can keep one that has the same
 * address as before.
 */
export interface Listener {
  readonly port: 'main' | 'internal'
  /** `HOST:PORT`, `[V6]:PORT`; port 0 is any free one. */
  readonly address: string
  /** Connections open at once; further ones get a 503 and are closed. */
  readonly maxConnections?: number
  /** Milliseconds for a client to send its header section. */
  readonly headersTimeout?: number
  /** Milliseconds that a connection may stay open between requests. */
  readonly keepAliveTimeout?: number
  /**
   * Milliseconds for which the port still accepts connections after the gateway was asked to stop and reports that
   * it is not ready.
   */
  readonly drainDelay?: number
  /** With it the port speaks https. A reload cannot turn it on or off while the port stays open. */
  readonly tls?: ListenerTls
  /**
   * Addresses and ranges of the proxies in front. The gateway believes these, and no others, about a client's
   * address.
   */
  readonly trustedProxies?: readonly string[]
}

export const Listener = many<Listener>('listener')
