import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { hasBody } from './body.js'
import { currentResponse } from './current-response.js'
import type { Handler } from './handler.js'
import { PendingUpgrade } from './pending-upgrade.js'

/**
 * Passes WebSocket upgrades to a list as ordinary requests, so that guards and authenticators check them like any
 * other. Only for a list that accepts upgrades: a listener changes how Node parses every request with `Upgrade`.
 */
export function handleUpgrades(server: Server, handler: Handler): void {
  server.removeAllListeners('upgrade')
  const parsedTwice = new WeakSet<Socket>()
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    // An earlier request of this connection still waits for its response, and both would write to one socket.
    if (currentResponse(socket) !== null) socket.destroy()
    else if (isWebSocket(request)) new PendingUpgrade(request, head).handle(handler)
    else {
      // Each further parser of a connection adds listeners to it, so the second is the last.
      parseAgain(server, request, socket, head, parsedTwice.has(socket))
      parsedTwice.add(socket)
    }
  })
}

/**
 * An option of a server since Node 24.9: where it returns false, Node parses the request as if `Upgrade` were absent.
 * So also for a request with a body, which Node 26 would keep from the socket.
 */
export function shouldUpgradeCallback(this: Server, request: IncomingMessage): boolean {
  return this.listenerCount('upgrade') > 0 && !hasBody(request)
}

/** Whether a request is an upgrade: then `takeSocket` gives its socket. Node's types lack the property. */
export const isUpgrade = (request: IncomingMessage): boolean => Reflect.get(request, 'upgrade') === true

/** Without a listener Node parses an upgrade as if the header were absent. */
export function ignoreUpgrades(server: Server): void {
  server.removeAllListeners('upgrade')
}

// Node reads no body of an upgrade: a request with a body is handled as an ordinary request.
const isWebSocket = (request: IncomingMessage): boolean =>
  request.method === 'GET' && request.headers.upgrade?.toLowerCase() === 'websocket' && !hasBody(request)

const REMOVED = new Set(['upgrade', 'http2-settings', 'connection'])

/**
 * A server may ignore `Upgrade`, and clients that ask for h2c (Java's among them) count on it, with bodies too.
 * Node has detached its parser by now, so this puts the request back without the header, to be parsed once more.
 */
function parseAgain(
  server: Server,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
  last: boolean,
): void {
  const { method, url, httpVersion, rawHeaders, headers } = request
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (!REMOVED.has(name.toLowerCase())) lines.push(`${name}: ${rawHeaders[index + 1]}`)
  }
  const kept = (headers.connection ?? '')
    .split(',')
    .map((token) => token.trim())
    .filter((token) => token !== '' && !REMOVED.has(token.toLowerCase()))
  if (last) lines.push('Connection: close')
  else if (kept.length > 0) lines.push(`Connection: ${kept.join(', ')}`)
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  // On a TLS port the other event would begin a handshake.
  server.emit('encrypted' in socket ? 'secureConnection' : 'connection', socket)
}
