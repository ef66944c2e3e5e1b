import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo, Server, Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { freePort } from './free-port.js'

/** Starts a server on a free port of loopback, and returns the port. */
export async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** Starts a server on a free port. The end of the test closes it and its connections; `sockets` are the open ones. */
export async function opened(
  t: Pick<TestContext, 'after'>,
  server: Server,
  sockets = new Set<Socket>(),
): Promise<{ readonly port: number; readonly sockets: ReadonlySet<Socket> }> {
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
  })
  const port = await portOf(server)
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port, sockets }
}

/** A real server on a free port of loopback, closed when the test ends. Returns its origin. */
export async function listening(t: TestContext, answer: RequestListener): Promise<string> {
  const { port } = await opened(t, createServer(answer))
  return `http://127.0.0.1:${port}`
}

/** An origin on loopback where nothing listens. */
export const closedPort = async (): Promise<string> => `http://127.0.0.1:${await freePort()}`
