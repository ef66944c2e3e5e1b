import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { UpstreamError } from 'sallyport'
import { createFetcher, type Fetcher, type FetcherOptions, type Resolve } from 'sallyport/toolkit'
import { opened } from './listening.js'

/** Resolves every name to this machine. */
export const resolveToLoopback: Resolve = async () => [{ address: '127.0.0.1', family: 4 }]

/** A fetcher that ignores the proxy variables of this machine. Closed when the test ends. */
export function fetching(t: TestContext, options: FetcherOptions = {}): Fetcher {
  const fetcher = createFetcher({ environment: {}, ...options })
  t.after(() => fetcher.close())
  return fetcher
}

/** Asserts that a request fails with an `UpstreamError` of this code, and returns the error. */
export async function failsWith(code: string, request: Promise<unknown>): Promise<UpstreamError> {
  const error = await request.then(
    () => assert.fail(`it should have failed with ${code}`),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof UpstreamError, String(error))
  assert.equal(error.code, code, error.message)
  return error
}

export interface TcpServer {
  readonly port: number
  /** How many connections have come in. */
  readonly hits: number
  /** How many of them are open. */
  readonly open: number
}

/** A TCP server on loopback. Without a listener it accepts connections and sends nothing. */
export async function tcpListening(t: TestContext, listener?: (socket: Socket) => void): Promise<TcpServer> {
  let hits = 0
  const server = createServer((socket) => {
    hits++
    socket.resume()
    listener?.(socket)
  })
  const { port, sockets } = await opened(t, server)
  return {
    port,
    get hits() {
      return hits
    },
    get open() {
      return sockets.size
    },
  }
}
