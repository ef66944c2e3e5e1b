import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ConfigError, type Gateway, listenAddress } from 'sallyport'
import type { z } from 'zod'

/** An address that nobody outside this machine can reach: a number and no name, since a name may point anywhere. */
export const loopbackAddress = (): z.ZodString =>
  listenAddress().regex(
    /^(?:127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\]):\d+$/,
    'expected an address of loopback, such as 127.0.0.1:9000: this is for trying things on one machine',
  )

/** A server of its own for what only a try needs. */
export interface LoopbackServer {
  readonly address: string
  /** All that makes it what it is: a list with the same goes on with the server of the list before. */
  readonly options: unknown
  /** Asked once the server's URL is known. */
  readonly answers: (url: string) => RequestListener | Promise<RequestListener>
}

/** Opens one when the gateway starts. It ends with the last list that has it, so that its keys and logins outlive a reload. */
export function serveOnLoopback(gateway: Gateway, { address, options, answers }: LoopbackServer): void {
  const server = gateway.keep(JSON.stringify(options), createServer, close)
  gateway.onStart(async () => {
    if (server.listening) return
    await listen(server, address)
    const { port } = server.address() as AddressInfo
    const url = `http://${address.replace(/\d+$/, String(port))}`
    server.on('request', await answers(url))
    gateway.log.info({ url }, 'for development only: this is open to every program of this machine')
  })
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = new Promise((resolve) => server.close(resolve))
  server.closeAllConnections()
  await closed
}

function listen(server: Server, address: string): Promise<void> {
  const colon = address.lastIndexOf(':')
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1')
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const message = `cannot listen on ${address} (${cause.code ?? 'unknown reason'}): choose another port`
      reject(new ConfigError([{ place: 'address', message }], { cause }))
    })
    server.listen(Number(address.slice(colon + 1)), host, resolve)
  })
}

/** Imports what is not installed with everything else. */
export async function optional<Module>(name: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load()
  } catch (cause) {
    const message = `the package ${name} is needed and could not be loaded: npm install ${name}`
    throw new ConfigError([{ place: 'package', message }], { cause })
  }
}
