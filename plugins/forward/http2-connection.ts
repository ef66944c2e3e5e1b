import { isIP } from 'node:net'
import { connect, type SecureContext, type TLSSocket } from 'node:tls'
import { portOf } from 'sallyport/toolkit'

/** Milliseconds to open a connection. */
const CONNECT_TIMEOUT = 10_000

/** Opens an HTTP/2 connection to the host of this origin, and verifies its certificate. Without HTTP/2 it fails. */
export function http2Connection(origin: string, secureContext: SecureContext | undefined): TLSSocket {
  const url = new URL(origin)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const socket = connect({
    host,
    port: portOf(url),
    ALPNProtocols: ['h2'],
    rejectUnauthorized: true,
    ...(isIP(host) === 0 && { servername: host }),
    ...(secureContext !== undefined && { secureContext }),
  })
  const timer = setTimeout(
    () => socket.destroy(failed('UND_ERR_CONNECT_TIMEOUT', 'no connection')),
    CONNECT_TIMEOUT,
  )
  return socket
    .once('secureConnect', () => {
      clearTimeout(timer)
      if (socket.alpnProtocol === 'h2') return
      // A server without ALPN completes the handshake all the same. On the next tick, before Node sends a request:
      // Node's HTTP/2 ends the process by an assertion if the socket is destroyed here.
      process.nextTick(() => socket.destroy(failed('ERR_TLS_NO_HTTP2', 'the server offers no HTTP/2')))
    })
    .once('close', () => clearTimeout(timer))
    .setKeepAlive(true, 30_000)
}

const failed = (code: string, message: string): Error => Object.assign(new Error(message), { code })
