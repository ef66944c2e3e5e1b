import { createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { opened } from '#kit/listening.js'

/** A target that accepts connections, and reads nothing until the test resumes one. */
export async function frozenTarget(t: TestContext) {
  const sockets: Socket[] = []
  const server = createServer({ pauseOnConnect: true }, (socket) => void sockets.push(socket))
  const { port } = await opened(t, server)
  return { host: `127.0.0.1:${port}`, sockets }
}
