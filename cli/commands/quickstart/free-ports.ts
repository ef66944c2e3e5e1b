import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type Server } from 'node:net'

/** Different ports of 127.0.0.1 that were free a moment ago; the first is the preferred one if it is free. */
export async function freePorts(count: number, preferred: number): Promise<readonly number[]> {
  const first = (await listenOn(preferred)) ?? (await listenOn(0))
  const others = await Promise.all(Array.from({ length: count - 1 }, () => listenOn(0)))
  const servers = [first, ...others].filter((server) => server !== undefined)
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  // Only now: a port that is released at once could be returned twice.
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

async function listenOn(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, '127.0.0.1')
  return once(server, 'listening').then(
    () => server,
    () => undefined,
  )
}
