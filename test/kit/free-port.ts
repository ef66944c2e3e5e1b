import { once } from 'node:events'
import { createServer } from 'node:net'

// Below the range from which Linux serves port 0, which other tests use at the same time.
const FIRST = 20_000
const COUNT = 12_000

/** A free port of loopback, for programs that do not accept port 0. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}

/** Two different free ports. */
export async function twoFreePorts(): Promise<readonly [number, number]> {
  const first = await freePort()
  for (;;) {
    const second = await freePort()
    if (second !== first) return [first, second]
  }
}
