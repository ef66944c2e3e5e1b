import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { eventually } from '../../kit/captured-log.js'
import { dial } from '../../kit/raw.js'
import { proxied } from './proxied.js'

const CHUNK = Buffer.alloc(64 * 1024, 'x')
const MOST = 256 * 1024 ** 2
// What the sockets of two connections and the proxy between them hold when nobody reads.
const HELD = 24 * 1024 ** 2

/** A target that takes a request's head and then reads nothing, until it is told to. */
async function lazyTarget(t: TestContext) {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.once('data', () => socket.pause())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  return { origin: `http://127.0.0.1:${address.port}`, sockets }
}

/** Writes as fast as it may, up to `MOST`, and knows how many bytes the connection has taken. */
function hasty(socket: Socket, frame: (chunk: Buffer) => Buffer): { taken: () => number } {
  const framed = frame(CHUNK)
  const pump = (): void => {
    while (socket.bytesWritten < MOST && socket.write(framed));
  }
  socket.on('drain', pump)
  pump()
  return { taken: () => socket.bytesWritten - socket.writableLength }
}

const chunked = (chunk: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')])

const framings: readonly (readonly [string, (chunk: Buffer) => Buffer])[] = [
  ['Transfer-Encoding: chunked', chunked],
  [`Content-Length: ${4 * MOST}`, (chunk) => chunk],
]

for (const [header, frame] of framings) {
  test(`a target that reads slowly holds a hasty caller back: ${header.split(':')[0]}`, async (t) => {
    const target = await lazyTarget(t)
    const { main } = await proxied(t, target.origin)
    const caller = dial(main)
    t.after(() => caller.destroy())
    caller.on('error', () => {})
    await once(caller, 'connect')
    caller.write(`POST / HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n`)

    const { taken } = hasty(caller, frame)
    // The first call of this kind waits for what such calls need to be loaded.
    const arrived = await eventually(() => target.sockets[0])
    const held = await standstill(taken)
    t.diagnostic(`${(held / 1024 ** 2).toFixed(1)} MiB were taken before the caller had to wait`)
    assert.ok(held < HELD, `${held} bytes`)

    // It was held back and not given up: a target that reads again gets the rest.
    arrived.resume()
    while (taken() < 2 * HELD) await once(caller, 'drain')
  })
}

/** The count at which nothing moves any more. */
async function standstill(count: () => number): Promise<number> {
  for (let last = -1; last !== count(); await setTimeout(250)) last = count()
  return count()
}
