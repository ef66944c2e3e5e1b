import { type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Handler } from './handler.js'

/**
 * Brings WebSocket upgrades to a list as ordinary requests, so that guards and authentication see them as any
 * other. It is there only for a list that wants them: a listener changes how Node reads every `Upgrade`.
 */
export function takeUpgrades(server: Server, answer: Handler): void {
  server.removeAllListeners('upgrade')
  const readOnce = new WeakSet<Duplex>()
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    // An earlier request of this connection still waits for its answer, and there is one socket for both.
    if (Reflect.get(socket, '_httpMessage')) socket.destroy()
    else if (isWebSocket(request)) enter(answer, request, socket, head)
    else {
      // Each further reader of a connection adds to it, so the second is the last.
      readAgain(server, request, socket, head, readOnce.has(socket))
      readOnce.add(socket)
    }
  })
}

/** Whether a request came in as an upgrade, and its socket is the handler's. Node's types do not know the mark. */
export const isUpgrade = (request: IncomingMessage): boolean => Reflect.get(request, 'upgrade') === true

/** Node then reads an upgrade as if the header were not there. */
export function ignoreUpgrades(server: Server): void {
  server.removeAllListeners('upgrade')
}

// Node reads no body of an upgrade: one that tells of a body is an ordinary request, and is read as one.
const isWebSocket = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' &&
  headers.upgrade?.toLowerCase() === 'websocket' &&
  headers['transfer-encoding'] === undefined &&
  !(Number(headers['content-length']) > 0)

function enter(answer: Handler, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  if (head.length > 0) socket.unshift(head)
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  // `assignSocket` asks for a net.Socket, which every socket of an HTTP server over TCP is.
  response.assignSocket(request.socket)
  response.on('finish', () => {
    response.detachSocket(request.socket)
    // Detached, it would never hear that the socket closed.
    response.emit('close')
    socket.end()
  })
  answer(request, response)
}

const NOT_READ_AGAIN = new Set(['upgrade', 'http2-settings', 'connection'])

/**
 * A server may ignore `Upgrade`, and clients that ask for h2c (Java's among them) count on it, with bodies too.
 * Node has let go of the connection by now, so the request is put back without the header and read once more.
 */
function readAgain(
  server: Server,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  last: boolean,
): void {
  const { method, url, httpVersion, rawHeaders, headers } = request
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (!NOT_READ_AGAIN.has(name.toLowerCase())) lines.push(`${name}: ${rawHeaders[index + 1]}`)
  }
  const kept = (headers.connection ?? '')
    .split(',')
    .map((token) => token.trim())
    .filter((token) => token !== '' && !NOT_READ_AGAIN.has(token.toLowerCase()))
  if (last) lines.push('Connection: close')
  else if (kept.length > 0) lines.push(`Connection: ${kept.join(', ')}`)
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  server.emit('connection', socket)
}
