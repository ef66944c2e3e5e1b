import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { hasBody } from './body-limit.js'

// Milliseconds for the rest of a body to come.
const LONGEST_REST = 60_000

/** Whether a part of the body is still to come. */
export const owesBody = (request: IncomingMessage): boolean => !request.complete && hasBody(request)

/**
 * A response that comes before the end of the body says that it is the last one of its connection: a proxy in front may
 * drop the rest of that body, and what it would send next, of another caller, would be read as that rest. The rest is
 * read for a while all the same: unread bytes would make the system reset the connection before the response was read. Nobody
 * waits for a body that was too slow (408), or that was not asked for.
 */
export function closeAfterBody(response: ServerResponse, status: number): void {
  const { req, socket } = response
  if (socket === null) return
  response.shouldKeepAlive = false
  if (status === 408 || req.headers.expect !== undefined) return
  // Node calls it once the response is sent.
  socket.destroySoon = function (this: Socket): void {
    Reflect.deleteProperty(this, 'destroySoon')
    if (req.complete) {
      this.destroySoon()
      return
    }
    const timer = setTimeout(() => this.destroy(), LONGEST_REST)
    this.once('close', () => clearTimeout(timer))
    req.once('end', () => this.destroySoon())
  }
}
