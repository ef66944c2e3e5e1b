import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { recordedLog, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { listen, plugin } from '#kit/plugin.js'
import { dial } from '#kit/raw.js'
import { secureListener } from '#kit/tls.js'

const SIZE = 16_000_000
// The part of 64 MiB that the system does not buffer for the client.
const MOST = 5
const REQUEST = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'

/** A gateway whose responses are large, and how many bytes wait in its sockets. */
async function large(t: TestContext, listener: typeof listen) {
  const sockets: Socket[] = []
  const route = plugin('large', ({ http }) =>
    http.get('/', { config: { public: true } }, ({ raw }) => {
      sockets.push(raw.socket)
      return Buffer.alloc(SIZE)
    }),
  )
  const { log, lines } = recordedLog()
  const { addresses } = await serving(t, [listener, route], { log })
  return { main: addresses.main ?? '', sockets, lines }
}

for (const [what, listener] of [
  ['', () => listen],
  [', over TLS', (t: TestContext) => secureListener(t)],
] as const) {
  test(`T16 too many unread responses end the connections whose clients have not read for longest${what}`, async (t) => {
    const { main, sockets, lines } = await large(t, listener(t))
    const stalled: Socket[] = []
    const stall = async (): Promise<void> => {
      const before = sockets.length
      const socket = dial(main).on('error', () => {})
      t.after(() => socket.destroy())
      await once(socket, main.startsWith('https') ? 'secureConnect' : 'connect')
      socket.pause()
      socket.write(REQUEST)
      stalled.push(socket)
      await eventually(() => sockets.length > before)
    }
    for (let index = 0; index < 3; index++) await stall()
    // A client that reads, however slowly, keeps its connection.
    const reader = dial(main)
    reader.write(REQUEST)
    let read = 0
    reader.on('data', (chunk: Buffer) => {
      read += chunk.length
      reader.pause()
      setTimeout(() => reader.resume(), 3)
    })
    for (let index = 0; index < 4; index++) await stall()

    await eventually(() => sockets.filter(({ destroyed }) => !destroyed).length <= MOST)
    assert.equal(sockets[0]?.destroyed, true)
    assert.equal(sockets.at(-1)?.destroyed, false)
    await once(reader, 'end')
    assert.ok(read > SIZE, `${read} of ${SIZE}`)
    assert.ok(lines.some(({ level, connections }) => level === 'warn' && Number(connections) > 0))
  })
}
