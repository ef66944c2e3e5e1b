import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

const THUMBPRINT = Symbol('thumbprint of the client certificate')

type Certified = Partial<Pick<TLSSocket, 'authorized' | 'getPeerX509Certificate'>>
type Connection = Socket & Certified & { [THUMBPRINT]?: string | undefined }

/**
 * The SHA-256 thumbprint of the certificate whose key the client proved to hold on this connection, as `cnf` of a bound
 * token has it (RFC 8705, 3.1). Undefined on plain http, in-process, and behind a proxy that ends TLS, whatever the
 * proxy's headers say.
 */
export function clientThumbprint({ socket }: Pick<IncomingMessage, 'socket'>): string | undefined {
  const connection: Connection = socket
  if (connection.authorized !== true) return undefined
  connection[THUMBPRINT] ??= thumbprintOf(connection)
  return connection[THUMBPRINT]
}

function thumbprintOf(connection: Certified): string | undefined {
  const certificate = connection.getPeerX509Certificate?.()
  return certificate && hash('sha256', certificate.raw, 'base64url')
}
