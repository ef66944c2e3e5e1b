import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import fc from 'fast-check'
import { Guard } from 'sallyport'
import { takeSocket } from 'sallyport/toolkit'
import { AcceptedSockets } from '#kit/accepted-sockets.js'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { deferred } from '#kit/deferred.js'
import { listen, plugin, providing } from '#kit/plugin.js'
import { dial, sendRaw } from '#kit/raw.js'
import { refusing } from '../gate/gated-routes.js'

const HANDSHAKE = 'Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
const LONG = 16 * 1024 ** 2

const routes = plugin('routes', ({ http }) => {
  http.get('/plain', { config: { public: true } }, () => 'plain')
  http.get('/closed', { config: { upgrades: true } }, () => 'closed')
  http.get('/long', { config: { public: true } }, () => {
    const piece = Buffer.alloc(64 * 1024, 'x')
    return Readable.from(Array.from({ length: LONG / piece.length }, () => piece))
  })
  http.get('/twice', { config: { public: true, upgrades: true } }, ({ raw }) => {
    takeSocket(raw)
    return takeSocket(raw)
  })
  // Echoes each byte, and ends when the client ends.
  http.get('/mirror', { config: { public: true, upgrades: true } }, ({ raw }, reply) => {
    reply.hijack()
    const socket = takeSocket(raw)
    socket.pipe(socket)
  })
})

/** A guard that holds requests until it is opened. */
function turnstile() {
  const { promise: opened, resolve: open } = deferred()
  const asked: true[] = []
  const guard = providing('turnstile', Guard, () => {
    asked.push(true)
    return opened
  })
  return { guard, open, asked }
}

/** A connection that does not end by itself when the other side does. */
function hold(origin: string): Socket {
  const socket = dial(origin).on('error', () => {})
  socket.allowHalfOpen = true
  return socket
}

/** The behaviour of a client after the response. */
const CALLERS: Readonly<Record<string, (socket: Socket, t: { after(end: () => void): void }) => void>> = {
  closes: (socket) => socket.on('data', () => socket.destroy()),
  'ends its side': (socket) => socket.on('data', () => socket.end()),
  'reads, and keeps the connection': (socket) => socket.resume(),
  'never reads': (socket) => socket.pause(),
  'goes on sending': (socket, t) => {
    const sending = setInterval(() => socket.write('more'), 50)
    const stop = (): void => clearInterval(sending)
    socket.resume().on('close', stop).on('error', stop)
    t.after(stop)
  },
}

test('after an ordinary response to an upgrade the socket ends, whatever the client does', async (t) => {
  const accepted = new AcceptedSockets(t)
  const closed = await serving(t, [refusing, routes, listen])
  const open = await serving(t, [routes, { use: 'auth/anonymous' }, listen])
  const requests = [
    [closed, 401, 'GET /closed HTTP/1.1\r\n'],
    [closed, 403, 'GET /closed HTTP/1.1\r\nX-Refused: 1\r\n'],
    [closed, 200, 'GET /plain HTTP/1.1\r\n'],
    [open, 404, 'GET /nowhere HTTP/1.1\r\n'],
    [open, 500, 'GET /twice HTTP/1.1\r\n'],
  ] as const

  const sockets: Socket[] = []
  for (const [running, , head] of requests) {
    for (const behave of Object.values(CALLERS)) {
      // Node leaves the byte after the header section unread.
      const socket = hold(running.addresses.main ?? '')
      socket.write(`${head}${HANDSHAKE}\r\nx`)
      behave(socket, t)
      sockets.push(socket)
    }
  }
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (const running of [closed, open]) {
    const own = requests.filter(([which]) => which === running).length
    await accepted.allClosed(running.addresses.main ?? '', own * Object.keys(CALLERS).length)
  }

  for (const [running, status, head] of requests.slice(0, -1)) {
    const answer = await sendRaw(running.addresses.main ?? '', `${head}${HANDSHAKE}\r\nx`)
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `))
  }
})

test('the gateway notices a client that disconnects during authentication', async (t) => {
  const accepted = new AcceptedSockets(t)
  const { guard, asked } = turnstile()
  const { main = '' } = (await serving(t, [guard, routes, listen])).addresses

  for (const behind of ['', 'x', 'x'.repeat(32 * 1024)]) {
    for (const leave of ['end', 'destroy', 'resetAndDestroy'] as const) {
      const before = asked.length
      const socket = dial(main).on('error', () => {})
      socket.write(`GET /mirror HTTP/1.1\r\n${HANDSHAKE}\r\n${behind}`)
      await eventually(() => asked.length > before)
      socket[leave]()
      await accepted.allClosed(main, asked.length)
      socket.destroy()
    }
  }
})

test('bytes that a client sends before its socket is taken arrive, up to a limit', async (t) => {
  const accepted = new AcceptedSockets(t)
  const { guard, open, asked } = turnstile()
  const { main = '' } = (await serving(t, [guard, routes, listen])).addresses

  const early = fc.sample(fc.array(fc.uint8Array({ minLength: 1, maxLength: 2_000 }), { maxLength: 20 }), 20)
  const callers = early.map((chunks) => {
    const socket = dial(main)
    socket.write(`GET /mirror HTTP/1.1\r\n${HANDSHAKE}\r\n`)
    for (const chunk of chunks) socket.write(chunk)
    return { socket, sent: Buffer.concat(chunks) }
  })
  const greedy = dial(main).on('error', () => {})
  greedy.write(`GET /mirror HTTP/1.1\r\n${HANDSHAKE}\r\n`)
  greedy.write(Buffer.alloc(128 * 1024))
  await eventually(() => asked.length === callers.length + 1)
  await eventually(() => accepted.at(main).open === callers.length)
  open()

  for (const { socket, sent } of callers) {
    const heard: Buffer[] = []
    socket.on('data', (chunk) => heard.push(chunk))
    socket.write('late')
    await eventually(() => Buffer.concat(heard).length === sent.length + 4)
    assert.deepEqual(Buffer.concat(heard), Buffer.concat([sent, Buffer.from('late')]))
    socket.end()
    await once(socket, 'close')
  }
  await accepted.allClosed(main, callers.length + 1)
})

test('a long response to an upgrade arrives whole', { timeout: 10_000 }, async (t) => {
  const { main = '' } = (await serving(t, [routes, listen])).addresses

  const answer = await sendRaw(main, `GET /long HTTP/1.1\r\n${HANDSHAKE}\r\nx`)
  assert.ok(answer.length > LONG && answer.endsWith('\r\n0\r\n\r\n'), `${answer.length} bytes`)
})

test('the gateway notices an h2c client that disconnects, before its response and after', async (t) => {
  const accepted = new AcceptedSockets(t)
  const { guard, open, asked } = turnstile()
  const { main = '' } = (await serving(t, [guard, routes, listen])).addresses
  const h2c = 'GET /plain HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n'

  const early = dial(main)
  early.write(h2c)
  await eventually(() => asked.length === 1)
  early.destroy()
  await accepted.allClosed(main, 1)

  open()
  const late = dial(main)
  late.write(h2c)
  await once(late, 'data')
  late.destroy()
  await accepted.allClosed(main, 2)
})

test('connections refused because of the limit, or because they are not HTTP, are closed', async (t) => {
  const accepted = new AcceptedSockets(t)
  const one = { use: 'listen/http', with: { address: '127.0.0.1:0', maxConnections: 1 } }
  const { main: full = '' } = (await serving(t, [routes, one])).addresses
  const { main = '' } = (await serving(t, [routes, listen])).addresses

  const first = dial(full)
  await once(first, 'connect')
  const second = hold(full)
  CALLERS['goes on sending']?.(second, t)
  await once(second, 'data')
  await eventually(() => accepted.at(full).open === 1)
  first.destroy()

  const garbage = hold(main)
  garbage.write('\0\0\0\0\r\n\r\n')
  CALLERS['reads, and keeps the connection']?.(garbage, t)
  await accepted.allClosed(main, 1)
  garbage.destroy()
})
