import { many } from '../capability.js'

/**
 * A door that the kernel is to open: a wish, not a socket. The kernel owns the sockets, so that a new list
 * can be put under them; a wish with the same address as before keeps its socket.
 */
export interface Listener {
  readonly port: 'main' | 'internal'
  /** `HOST:PORT`, `[V6]:PORT`; port 0 is any free one. */
  readonly address: string
  /** Sockets open at once; further ones are told 503 and closed. */
  readonly maxConnections?: number
  /** Milliseconds for a caller to send its header section. */
  readonly headersTimeout?: number
  /** Milliseconds that a connection may stay open between requests. */
  readonly keepAliveTimeout?: number
}

export const Listener = many<Listener>('listener')
