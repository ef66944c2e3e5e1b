import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { AcceptedSockets } from '#kit/accepted-sockets.js'
import { eventually } from '#kit/captured-log.js'
import { fakeClock } from '#kit/fake-clock.js'
import { opened } from '#kit/listening.js'
import { dial } from '#kit/raw.js'
import { proxied } from './proxied.js'

const HANDSHAKE = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
const PIECE = Buffer.alloc(1024, 'x')
const EVENTS = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: first\n\n'

/** A target that responds to everything with these bytes, and leaves the connection open. */
async function bytesTarget(t: TestContext, answer: string) {
  const sockets: Socket[] = []
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket)
    socket.on('data', (chunk) => {
      if (String(chunk).startsWith('GET ')) socket.write(answer)
    })
  })
  const { port } = await opened(t, server)
  return { origin: `http://127.0.0.1:${port}`, sockets }
}

/** The text that a socket has received, and whether it has ended. */
function received(socket: Socket) {
  const heard = { text: '', ended: false }
  socket.allowHalfOpen = true
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    heard.text += String(chunk)
  })
  socket.on('end', () => {
    heard.ended = true
  })
  return heard
}

async function joined(t: TestContext) {
  const accepted = new AcceptedSockets(t)
  const target = await bytesTarget(t, SWITCHED)
  const { main } = await proxied(t, target.origin)
  const caller = dial(main)
  const told = received(caller)
  caller.write(HANDSHAKE)
  await eventually(() => told.text.endsWith('\r\n\r\n'))
  const [behind] = target.sockets
  assert.ok(behind !== undefined)
  return { accepted, main, caller, told, behind, asked: received(behind) }
}

for (const leaves of ['the caller', 'the target']) {
  test(`after ${leaves} ended, the other side may finish, and is then destroyed`, async (t) => {
    const clock = fakeClock(t)
    const { accepted, main, caller, told, behind, asked } = await joined(t)
    const [first, second] = leaves === 'the caller' ? [caller, behind] : [behind, caller]
    const [firstHeard, secondHeard] = first === caller ? [told, asked] : [asked, told]

    first.end('the last of it')
    await eventually(() => secondHeard.ended && secondHeard.text.endsWith('the last of it'))
    await clock.advance(9_000)
    second.write('still here')
    await eventually(() => firstHeard.text.endsWith('still here'))
    assert.equal(accepted.at(main).open, 1)

    await clock.advance(1_000)
    await accepted.allClosed(main, 1)
    await eventually(() => behind.destroyed || asked.ended)
    if (second === behind) await once(behind.resume().end(), 'close')
  })
}

test('bytes that are in flight when both sides end still arrive', async (t) => {
  const { accepted, main, caller, told, behind, asked } = await joined(t)
  const [ours] = accepted.socketsAt(main)
  const before = told.text.length

  caller.pause().end('bye')
  await eventually(() => asked.ended)
  // Until the system's buffers are full, and some bytes wait in this process.
  let sent = 0
  for (; ours?.writableLength === 0; sent += PIECE.length) {
    behind.write(PIECE)
    await new Promise((resolve) => void setImmediate(resolve))
  }
  behind.end()
  await once(behind, 'close')

  caller.resume()
  await once(caller, 'close')
  assert.equal(told.text.length - before, sent)
  await accepted.allClosed(main, 1)
})

test('a caller that disconnects from a stream with Upgrade cancels its request', async (t) => {
  const accepted = new AcceptedSockets(t)
  const target = await bytesTarget(t, EVENTS)
  const { main } = await proxied(t, target.origin)

  for (let count = 1; count <= 5; count++) {
    const caller = dial(main)
    const told = received(caller)
    caller.write(`${HANDSHAKE}x`)
    await eventually(() => told.text.includes('data: first'))
    caller.write('more')
    caller.destroy()
    await accepted.allClosed(main, count)
    await eventually(() => target.sockets.every(({ readableEnded, destroyed }) => readableEnded || destroyed))
  }
})

test('a caller that disconnects before the response to its upgrade cancels it', async (t) => {
  const accepted = new AcceptedSockets(t)
  const target = await bytesTarget(t, '')
  const { main } = await proxied(t, target.origin, { targetTimeout: 0 })

  const caller = dial(main)
  caller.write(`${HANDSHAKE}early`)
  await eventually(() => target.sockets.length === 1)
  caller.destroy()
  await accepted.allClosed(main, 1)
  await eventually(() => target.sockets.every(({ readableEnded, destroyed }) => readableEnded || destroyed))
})

test('a target that refuses an upgrade leaves no socket behind', async (t) => {
  const accepted = new AcceptedSockets(t)
  const target = await bytesTarget(t, 'HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno')
  const { main } = await proxied(t, target.origin)

  for (let count = 1; count <= 5; count++) {
    const caller = dial(main)
    const told = received(caller)
    caller.write(`${HANDSHAKE}x`)
    await eventually(() => told.text.endsWith('no'))
    if (count % 2 === 0) caller.destroy()
    await accepted.allClosed(main, count)
    caller.destroy()
  }
})
