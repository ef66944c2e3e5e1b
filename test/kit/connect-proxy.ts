import { createServer, type IncomingHttpHeaders } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { connect, type Socket } from 'node:net'
import { opened } from './listening.js'
import type { Identity } from './tls.js'

export interface ConnectProxy {
  readonly url: string
  /** The `host:port` of each CONNECT. */
  readonly asked: string[]
  readonly heads: IncomingHttpHeaders[]
  /** How many connections to it are open. */
  readonly open: number
}

interface ConnectProxyOptions {
  /** The port that every tunnel leads to; by default the one of its CONNECT. */
  readonly to?: number
  /** Clients connect to the proxy over TLS, with this certificate. */
  readonly identity?: Identity
  /** Handles a CONNECT itself and returns `true`: then the proxy opens no tunnel. */
  readonly instead?: (socket: Socket, headers: IncomingHttpHeaders) => boolean
}

/** A CONNECT proxy on loopback that connects every name to this machine. */
export async function connectProxy(
  t: { after(run: () => void): void },
  { to, identity, instead }: ConnectProxyOptions = {},
): Promise<ConnectProxy> {
  const asked: string[] = []
  const heads: IncomingHttpHeaders[] = []
  const server = identity === undefined ? createServer() : createSecureServer({ ...identity })
  server.on('connect', ({ url = '', headers }, socket: Socket) => {
    asked.push(url)
    heads.push(headers)
    socket.on('error', () => {})
    if (instead?.(socket, headers) === true) {
      // A socket that is not read never reports its end.
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
