import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { fakeClock } from '#kit/fake-clock.js'
import { proxied } from './proxied.js'
import { answerTo } from './raw-target.js'

/** A target that accepts connections, and does nothing else. */
async function frozenTarget(t: TestContext) {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  return { host: `127.0.0.1:${address.port}`, sockets }
}

test('a TLS handshake that never ends is a 504 after the time to connect (T16)', {
  timeout: 20_000,
}, async (t) => {
  const clock = fakeClock(t)
  const target = await frozenTarget(t)
  const { main } = await proxied(t, `https://${target.host}`)
  const requests = [
    'HEAD / HTTP/1.1\r\nHost: a\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n',
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n${'x'.repeat(100_000)}`,
    'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  ]

  const answers = requests.map((request) => answerTo(main, request))
  await eventually(() => target.sockets.length === requests.length)
  await clock.advance(10_000)
  for (const { line } of await Promise.all(answers)) assert.match(line, /^HTTP\/1.1 504 /)
})
