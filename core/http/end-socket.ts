import type { Duplex } from 'node:stream'

// Milliseconds for the client to read the last response.
const LINGER_MS = 2_000

/**
 * Sends the last bytes, ends the socket, and destroys it soon after, whatever the client does. Bytes that still arrive
 * are read and dropped: unread bytes would make the system reset the connection before the client has read the
 * response.
 */
export function endSocket(socket: Duplex, last?: string): void {
  if (socket.destroyed) return
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
  socket.resume()
  socket.end(last)
}
