import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** A target that accepts connections, and reads nothing until the test resumes one. */
export async function frozenTarget(t: TestContext) {
  const sockets: Socket[] = []
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, sockets }
}
