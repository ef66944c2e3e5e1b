import { connect, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'

/** Connects to the server of an http or https origin. The caller closes the socket. */
export function dial(origin: string, tls: ConnectionOptions = {}): Socket {
  const { hostname, port, protocol } = new URL(origin)
  const to = { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) }
  return protocol === 'https:' ? connectTls({ rejectUnauthorized: false, ...to, ...tls }) : connect(to)
}

/** Sends bytes as they are, and returns all that the server sends until it closes the connection. */
export async function sendRaw(
  origin: string,
  bytes: string | Buffer,
  tls: ConnectionOptions = {},
): Promise<string> {
  const socket = dial(origin, tls)
  const chunks: Buffer[] = []
  await new Promise<void>((resolve, reject) => {
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve())
    socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  })
  return Buffer.concat(chunks).toString('latin1')
}

/** Sends one request on a new connection, and returns the status and body of the response. */
export async function requestRaw(
  origin: string,
  requestLine: string,
  headers: readonly string[] = ['Host: gateway'],
  tls: ConnectionOptions = {},
): Promise<{ status: number; body: string }> {
  const answer = await sendRaw(
    origin,
    `${requestLine} HTTP/1.1\r\n${[...headers, 'Connection: close'].join('\r\n')}\r\n\r\n`,
    tls,
  )
  const [head = '', ...rest] = answer.split('\r\n\r\n')
  return { status: Number(head.slice(9, 12)), body: rest.join('\r\n\r\n') }
}
