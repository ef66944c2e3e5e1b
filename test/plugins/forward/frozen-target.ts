import { createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { portOf } from '#kit/listening.js'

/** A target that accepts connections, and reads nothing until the test resumes one. */
export async function frozenTarget(t: TestContext) {
  const sockets: Socket[] = []
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
  })
  const port = await portOf(server)
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { host: `127.0.0.1:${port}`, sockets }
}
