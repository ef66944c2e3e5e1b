import { once } from 'node:events'
import { createServer } from 'node:net'

// Below those that Linux gives to whoever asks for any port, as other tests do at the same time.
const FIRST = 20_000
const COUNT = 12_000

/** A port of loopback that nobody listens on, for what takes no port 0. */
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

/** Two of them, which are not the same. */
export async function twoFreePorts(): Promise<readonly [number, number]> {
  const first = await freePort()
  for (;;) {
    const second = await freePort()
    if (second !== first) return [first, second]
  }
}
