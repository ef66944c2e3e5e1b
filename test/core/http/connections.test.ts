import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { AcceptedSockets } from '#kit/accepted-sockets.js'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { plugin } from '#kit/plugin.js'
import { dial, requestRaw, sendRaw } from '#kit/raw.js'
import { secureListener } from '#kit/tls.js'

const SIZE = 20_000_000

const routes = plugin('routes', ({ http }) => {
  const open = { config: { public: true } }
  http.get('/', open, () => 'hello')
  http.get('/large', open, () => 'x'.repeat(SIZE))
  http.get('/events', open, (_request, reply) =>
    reply.type('text/event-stream').send(new Readable({ read() {} }).wrap(Readable.from(['data: 1\n\n']))),
  )
  http.post('/body', open, ({ body }) => body)
})

/** The first bytes that a client sends in a handshake. */
async function clientHello(t: TestContext, secure: string): Promise<Buffer> {
  const accepted = new AcceptedSockets(t)
  const socket = dial(secure)
  await once(socket, 'secureConnect')
  socket.destroy()
  await accepted.allClosed(secure, 1)
  // Type, version, length, and a body that begins like a ClientHello of 256 bytes.
  return Buffer.concat([Buffer.from('160301010001000100fc0303', 'hex'), Buffer.alloc(40)])
}

const descriptors = (): number => readdirSync('/proc/self/fd').length
const onLinux = { skip: process.platform === 'linux' ? false : 'descriptors are counted in /proc' }

test(
  'attack: 500 handshakes that never end leave no socket, and others are served (T16)',
  onLinux,
  async (t) => {
    const { main = '' } = (await serving(t, [secureListener(t), routes])).addresses
    const hello = await clientHello(t, main)
    const accepted = new AcceptedSockets(t)
    const before = descriptors()
    const plain = main.replace('https:', 'http:')
    const ways: readonly ((socket: Socket, index: number) => void)[] = [
      () => {},
      (socket) => socket.write(hello),
      (socket, index) => socket.write(hello.subarray(0, index % hello.length)),
      (socket) => socket.end(),
      (socket) => socket.on('connect', () => socket.resetAndDestroy()),
      (socket) => socket.write(Buffer.alloc(3000, 0x16)),
      // A limit on silence alone would begin anew with each byte.
      (socket) => {
        const drip = setInterval(() => socket.writable && socket.write(hello.subarray(0, 1)), 500)
        socket.on('close', () => clearInterval(drip))
      },
    ]
    const began = performance.now()
    for (let index = 0; index < 500; index++) {
      const socket = dial(plain).on('error', () => {})
      socket.resume()
      ways[index % ways.length]?.(socket, index)
    }

    await eventually(() => accepted.at(main).accepted >= 500)
    assert.equal((await requestRaw(main, 'GET /')).status, 200)
    assert.ok(performance.now() - began < 9_000, 'it was served while they were waiting')
    await eventually(() => accepted.at(main).open === 0, 20)
    await eventually(() => descriptors() <= before + 1)
    assert.equal((await requestRaw(main, 'GET /')).status, 200)
  },
)

test('handshakes count: beyond the limit a TLS connection gets a 503, and beyond twice the limit nothing', async (t) => {
  const listen = secureListener(t, undefined, { maxConnections: 3 })
  const { main = '' } = (await serving(t, [listen, routes])).addresses
  const accepted = new AcceptedSockets(t)
  const open = Array.from({ length: 3 }, () => dial(main))
  await Promise.all(open.map((socket) => once(socket, 'secureConnect')))

  assert.match(
    await sendRaw(main, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'),
    /^HTTP\/1.1 503 [\s\S]*Retry-After: 1/,
  )
  await eventually(() => accepted.at(main).open === 3)
  let closed = 0
  const waiting = Array.from({ length: 10 }, () =>
    dial(main.replace('https:', 'http:'))
      .on('error', () => {})
      .on('close', () => closed++),
  )
  await eventually(() => closed === 7)
  assert.equal(accepted.at(main).open, 6)

  for (const socket of [...open, ...waiting]) socket.destroy()
  await eventually(() => accepted.at(main).open === 0)
  assert.equal((await requestRaw(main, 'GET /')).status, 200)
})

test('refused connections do not count against the limit, however long they stay (T16)', async (t) => {
  const listen = { use: 'listen/http', with: { address: '127.0.0.1:0', maxConnections: 1 } }
  const { main = '' } = (await serving(t, [listen, routes])).addresses
  const accepted = new AcceptedSockets(t)
  const first = dial(main)
  await once(first, 'connect')
  const stays = connect({ host: '127.0.0.1', port: Number(new URL(main).port), allowHalfOpen: true })
  t.after(() => stays.destroy())
  await once(stays.resume(), 'end')

  first.destroy()
  await eventually(() => accepted.at(main).open <= 1)

  assert.equal((await requestRaw(main, 'GET /')).status, 200)
})

test('over TLS too: invalid HTTP and large headers are refused, and 100 Continue is sent after the gate', async (t) => {
  const { main = '' } = (await serving(t, [secureListener(t), routes])).addresses
  for (const [bytes, status] of [
    ['nonsense\r\n\r\n', 400],
    [`GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`, 431],
    [`GET / HTTP/1.1\r\nhost: x\r\n${'x: y\r\n'.repeat(1001)}\r\n`, 431],
  ] as const)
    assert.match(await sendRaw(main, bytes), new RegExp(`^HTTP/1.1 ${status} `))

  const post = (path: string) =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n`
  assert.match(await sendRaw(main, post('/closed')), /^HTTP\/1.1 401 /)
  const socket = dial(main)
  socket.write(post('/body'))
  let heard = ''
  for await (const chunk of socket) {
    heard += String(chunk)
    if (heard === 'HTTP/1.1 100 Continue\r\n\r\n') socket.write('hi')
  }
  assert.match(heard, /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 [\s\S]*hi$/)
})

test('a stop lets a slow client read a whole response over TLS, and ends event streams', async (t) => {
  const running = await serving(t, [secureListener(t), routes])
  const { main = '' } = running.addresses
  const events = dial(main)
  events.write('GET /events HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(events, 'data')
  const slow = dial(main)
  slow.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(slow, 'readable')

  const stopped = running.stop()
  let read = 0
  for await (const chunk of slow) read += (chunk as Buffer).length

  assert.ok(read > SIZE, `${read} of ${SIZE} bytes`)
  await stopped
  if (!events.destroyed) await once(events, 'close')
})
