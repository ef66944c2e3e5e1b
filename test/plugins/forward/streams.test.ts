import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { listening } from '../../kit/listening.js'
import { dial } from '../../kit/raw.js'
import { call, opening, proxied } from './proxied.js'
import { rawTarget } from './raw-target.js'

// The full numbers of the requirement take minutes and gigabytes; they run when somebody asks for them.
const FULL = process.env['SALLYPORT_FULL_TESTS'] === '1'
const STREAMS = FULL ? 2_000 : 200
const BODY = FULL ? 1024 ** 3 : 512 * 1024 ** 2
// Target, proxy and caller share this process, and what is not collected yet counts too.
const GROWTH = BODY / 2

const SSE = { accept: 'text/event-stream' }

test('events arrive as they are sent, one by one, and the head before the first of them', async (t) => {
  let target: ServerResponse | undefined
  const origin = await listening(t, (_request, response) => {
    target = response
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  })
  const { main } = await proxied(t, origin)

  for (const asked of [{ headers: SSE }, { ...call(1), headers: { ...SSE } }]) {
    const response = await opening(main, asked)
    for (const event of ['data: 1\n\n', 'data: 2\n\n', ': ping\n\n']) {
      target?.write(event)
      const [chunk] = await once(response, 'data')
      assert.equal(String(chunk), event)
    }
    response.destroy()
  }
})

test('many open streams cost little, and each gets its own events', async (t) => {
  const open: ServerResponse[] = []
  const origin = await listening(t, (_request, response) => {
    open.push(response)
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  })
  const { main } = await proxied(t, origin)
  const listeners: IncomingMessage[] = []
  for (let count = 0; count < STREAMS; count += 50) {
    listeners.push(...(await Promise.all(Array.from({ length: 50 }, () => opening(main, { headers: SSE })))))
  }
  assert.equal(open.length, STREAMS)

  const heard = Promise.all(listeners.map((listener) => once(listener, 'data')))
  for (const [index, response] of open.entries()) response.write(`data: ${index}\n\n`)
  const events = new Set((await heard).map(([chunk]) => String(chunk)))
  assert.equal(events.size, STREAMS)

  const gone = Promise.all(open.map((response) => once(response, 'close')))
  for (const listener of listeners) listener.destroy()
  await gone
})

/** Counts what comes without keeping it, and lets memory settle first. */
async function measured(response: AsyncIterable<Buffer>): Promise<{ bytes: number; growth: number }> {
  const before = process.memoryUsage().rss
  let bytes = 0
  let most = before
  for await (const chunk of response) {
    bytes += chunk.length
    if (bytes % 64 < 8) most = Math.max(most, process.memoryUsage().rss)
  }
  return { bytes, growth: Math.max(most, process.memoryUsage().rss) - before }
}

function* filler(): Generator<Buffer> {
  const chunk = Buffer.alloc(64 * 1024, 'x')
  for (let sent = 0; sent < BODY; sent += chunk.length) yield chunk
}

test('a body of any size goes up and down with flat memory', async (t) => {
  const origin = await listening(t, (request, response) => {
    if (request.method === 'GET') Readable.from(filler()).pipe(response)
    else void measured(request).then(({ bytes }) => response.end(String(bytes)))
  })
  const { main } = await proxied(t, origin)

  const down = await measured(await opening(main))
  assert.equal(down.bytes, BODY)
  assert.ok(down.growth < GROWTH, `down grew by ${down.growth}`)

  const before = process.memoryUsage().rss
  const upload = httpRequest(main, { method: 'POST' })
  Readable.from(filler()).pipe(upload)
  const [answer] = await once(upload, 'response')
  let told = ''
  for await (const chunk of answer) told += chunk
  assert.equal(told, String(BODY))
  assert.ok(process.memoryUsage().rss - before < GROWTH)
})

test('a caller that reads slowly holds the target back', async (t) => {
  let written = 0
  const chunk = Buffer.alloc(64 * 1024, 'x')
  const origin = await listening(t, (_request, response) => {
    const pump = (): void => {
      while (written < BODY && response.write(chunk)) written += chunk.length
    }
    response.on('drain', pump)
    pump()
  })
  const { main } = await proxied(t, origin)

  for (const asked of [
    'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ]) {
    written = 0
    const socket = dial(main)
    socket.write(asked)
    await once(socket, 'readable')
    // Nothing is read from here on: it stops when the buffers on the way are full.
    let last = -1
    while (last !== written) {
      last = written
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
    assert.ok(written < BODY / 2, `${written} were taken from the target`)
    socket.destroy()
  }
})

test('a stop ends listening streams at once, and waits for a call that is being answered', async (t) => {
  let finish: () => void = () => {}
  const origin = await listening(t, (request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: begun\n\n')
    if (request.method === 'POST') finish = () => response.end('data: done\n\n')
  })
  const { main, running } = await proxied(t, origin)
  const stream = await opening(main, { headers: SSE })
  const answer = await opening(main, { ...call(1), headers: SSE })
  await Promise.all([once(stream, 'data'), once(answer, 'data')])
  stream.on('error', () => {})
  const closed = new Promise((resolve) => stream.on('close', resolve))

  const stopped = running.stop(20_000)
  setTimeout(() => finish(), 200)
  const [last] = await once(answer, 'data')
  assert.equal(String(last), 'data: done\n\n')
  const started = Date.now()
  await Promise.all([stopped, closed])
  assert.ok(Date.now() - started < 5_000)
})

test('a WebSocket passes with its bytes, through credentials and guards', async (t) => {
  const target = await rawTarget(t, ({ headers }, socket) => {
    const { authorization } = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]))
    if (authorization !== 'Bearer mine') return 'HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno'
    socket.removeAllListeners('data')
    socket.on('data', (chunk) => socket.write(chunk))
    return 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\nSec-WebSocket-Protocol: mcp\r\n\r\n'
  })
  const handshake =
    'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n\r\n'
  const { main, running } = await proxied(t, target.origin, {}, [
    { use: 'credential/static-bearer', with: { token: 'mine' } },
  ])

  const socket = dial(main)
  let heard = ''
  const echoed = new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1')
      if (heard.endsWith('\r\n\r\n')) socket.write(Buffer.from('\x81\x02hi\x00\xff', 'latin1'))
      if (heard.endsWith('\xff')) resolve()
    })
  })
  socket.write(handshake)
  await echoed
  assert.match(heard, /^HTTP\/1.1 101 Switching Protocols\r\n[\s\S]*Sec-WebSocket-Protocol: mcp\r\n/)
  assert.ok(heard.endsWith('\r\n\r\n\x81\x02hi\x00\xff'))
  assert.ok(target.seen[0]?.headers.some(([name, value]) => name === 'Sec-WebSocket-Key' && value === 'k'))

  const closed = once(socket, 'close')
  await running.stop(20_000)
  await closed

  const refusing = await proxied(t, target.origin)
  const refused = dial(refusing.main)
  let told = ''
  refused.on('data', (chunk) => {
    told += chunk
  })
  refused.write(handshake)
  await once(refused, 'close')
  assert.match(told, /^HTTP\/1.1 403 No\r\n[\s\S]*no$/)
})
