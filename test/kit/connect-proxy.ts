import { createServer, type IncomingHttpHeaders } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { connect, type Socket } from 'node:net'
import { opened } from './listening.js'
import type { Identity } from './tls.js'

export interface ConnectProxy {
  readonly url: string
  /** Where each CONNECT wanted to go. */
  readonly asked: string[]
  readonly heads: IncomingHttpHeaders[]
  /** How many connections to it are open. */
  readonly open: number
}

interface Manners {
  /** The port that every tunnel leads to; the one that was asked for when it is left out. */
  readonly to?: number
  /** The proxy is itself spoken to over TLS. */
  readonly identity?: Identity
  /** Sends a CONNECT away, or does something else with it in place of a tunnel. */
  readonly instead?: (socket: Socket, headers: IncomingHttpHeaders) => boolean
}

/** A CONNECT proxy on loopback, for which every name is this machine. */
export async function connectProxy(
  t: { after(run: () => void): void },
  { to, identity, instead }: Manners = {},
): Promise<ConnectProxy> {
  const asked: string[] = []
  const heads: IncomingHttpHeaders[] = []
  const server = identity === undefined ? createServer() : createSecureServer({ ...identity })
  server.on('connect', ({ url = '', headers }, socket: Socket) => {
    asked.push(url)
    heads.push(headers)
    socket.on('error', () => {})
    if (instead?.(socket, headers) === true) {
      // Nobody learns of an end without reading.
      socket.resume()
      return
    }
    const onward = connect(to ?? Number(url.split(':').at(-1)), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      onward.pipe(socket).pipe(onward)
    })
    onward.on('error', () => socket.destroy()).on('close', () => socket.destroy())
    socket.on('close', () => onward.destroy())
  })
  const { port, sockets } = await opened(t, server)
  return {
    url: `http${identity === undefined ? '' : 's'}://127.0.0.1:${port}`,
    asked,
    heads,
    get open() {
      return sockets.size
    },
  }
}
