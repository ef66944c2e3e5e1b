import { constants } from 'node:crypto'
import type { ServerOptions } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import type { Logger } from 'pino'
import type { ListenerTls } from '../contract/capabilities/listener.js'
import { LogThrottle } from '../log/log-throttle.js'

const HANDSHAKE_TIMEOUT = 10_000

// Mozilla's intermediate list (5.7): forward secrecy and AEAD alone. The first three are those of TLS 1.3.
const MODERN_CIPHERS = [
  ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
  ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
  ...['ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ...['DHE-RSA-AES128-GCM-SHA256', 'DHE-RSA-AES256-GCM-SHA384', 'DHE-RSA-CHACHA20-POLY1305'],
].join(':')

/** An HTTPS server whose certificates can be replaced while it is open. */
export function createTlsServer(options: ServerOptions, tls: ListenerTls, log: Logger): Server {
  const server = createServer({
    ...options,
    ...secureContext(tls),
    handshakeTimeout: HANDSHAKE_TIMEOUT,
    // A client that speaks HTTP/2 alone is refused in the handshake.
    ALPNProtocols: ['http/1.1'],
    requestCert: tls.clientCertificate !== 'none',
    rejectUnauthorized: tls.clientCertificate === 'require',
  })
  logFailures(server, log)
  return server
}

/** The settings that a handshake uses; for `setSecureContext` too. */
export function secureContext({
  certificates,
  minVersion,
  modernCiphers,
}: ListenerTls): SecureContextOptions {
  const { cert, key, ca } = certificates
  // A resumed session shows no certificate: the gateway would still trust one whose authority was removed meanwhile.
  const resumption = ca === undefined ? 0 : constants.SSL_OP_NO_TICKET
  return {
    ...{ cert, key, ca, minVersion: `TLSv${minVersion}` },
    ...(modernCiphers !== false && { ciphers: MODERN_CIPHERS }),
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION | resumption,
  }
}

/**
 * Where the gateway requests a certificate without requiring one, Node completes the handshake with any certificate.
 */
export const hasUntrustedCertificate = (socket: TLSSocket): boolean =>
  !socket.authorized && socket.getPeerX509Certificate() !== undefined

function logFailures(server: Server, log: Logger): void {
  const throttle = new LogThrottle(log)
  let plainLevel: 'warn' | 'debug' = 'warn'
  server.on('tlsClientError', (error: NodeJS.ErrnoException, { authorizationError }) => {
    // Node keeps the code in `authorizationError`, though the property's type is `Error`.
    const code = String(authorizationError ?? error.code)
    if (code === 'ERR_SSL_HTTP_REQUEST') {
      throttle.write(log, plainLevel, 'plain http was sent to the https port', {})
      plainLevel = 'debug'
      return
    }
    // Port scanners and health checks connect and leave.
    throttle.write(log, code === 'ECONNRESET' ? 'debug' : 'info', 'a TLS handshake failed', { code })
  })
  server.on('close', () => throttle.flush())
}
