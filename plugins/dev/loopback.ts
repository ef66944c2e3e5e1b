import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ConfigError, type Gateway } from 'sallyport'
import { isLoopbackHost, listenAddress, loopbackHosts, parseHostPort } from 'sallyport/toolkit'
import type { z } from 'zod'

/** A loopback address, which only this machine can reach. Not a host name, which may resolve to any address. */
export const loopbackAddress = (): z.ZodString =>
  listenAddress().regex(
    /^(?:127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\]):\d+$/,
    'expected an address of loopback, such as 127.0.0.1:9000: this is for development on one machine',
  )

/** A server for development, on a port of its own. */
export interface LoopbackServer {
  readonly address: string
  /** A reload with equal options keeps the server. */
  readonly options: unknown
  /** Called once the server's URL is known. */
  readonly handler: (url: string) => RequestListener | Promise<RequestListener>
}

/**
 * Opens a server when the gateway starts. It keeps running over a reload with equal options, with its keys and
 * logins.
 */
export function serveOnLoopback(gateway: Gateway, { address, options, handler }: LoopbackServer): void {
  const server = gateway.share(JSON.stringify(options), createServer, close)
  gateway.onStart(async () => {
    if (server.listening) return
    await listen(server, address)
    const { port } = server.address() as AddressInfo
    const url = `http://${address.replace(/\d+$/, String(port))}`
    server.on('request', ownPagesOnly(url, await handler(url)))
    gateway.log.info({ url }, 'for development only: every program on this machine can reach it')
  })
}

/** Whether the URL of a page leads to this machine, at any port. */
export function isOnLoopback(url: string): boolean {
  const { protocol, hostname = '' } = URL.parse(url) ?? {}
  const isWeb = protocol === 'http:' || protocol === 'https:'
  return isWeb && isLoopbackHost(hostname.replace(/^\[(.*)\]$/, '$1'))
}

/**
 * Refuses requests of foreign pages: of one that rebinds its name to this machine (`Host`), and of any other
 * (`Origin`).
 */
function ownPagesOnly(url: string, handler: RequestListener): RequestListener {
  const hosts = new Set(loopbackHosts({ main: url }))
  const isOwn = ({ headers: { host = '', origin } }: IncomingMessage): boolean =>
    hosts.has(host.toLowerCase()) && (origin === undefined || isOnLoopback(origin))
  return (request, response) => {
    if (isOwn(request)) return handler(request, response)
    response.writeHead(403, { 'content-type': 'text/plain' }).end('for pages of this machine only\n')
  }
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = new Promise((resolve) => server.close(resolve))
  server.closeAllConnections()
  await closed
}

function listen(server: Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const message = `cannot listen on ${address} (${cause.code ?? 'unknown reason'}): choose another port`
      reject(new ConfigError([{ place: 'address', message }], { cause }))
    })
    server.listen(parseHostPort(address), resolve)
  })
}
