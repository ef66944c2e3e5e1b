import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import type { TestContext } from 'node:test'

/** Opens a server on a free port of loopback, and returns that port. */
export async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** A real server on a free port of loopback, closed when the test ends. Returns its origin. */
export async function listening(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  const port = await portOf(server)
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${port}`
}

/** An origin on loopback where nothing listens any more. */
export async function closedPort(): Promise<string> {
  const server = createServer()
  const port = await portOf(server)
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}
