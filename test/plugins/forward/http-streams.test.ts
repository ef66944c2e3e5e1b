import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { listening } from '#kit/listening.js'
import { dial } from '#kit/raw.js'
import { call, openRequest, proxied } from './proxied.js'
import { rawTarget } from './raw-target.js'

// More than all buffers between target and caller can hold.
const BODY = 256 * 1024 ** 2

const SSE = { accept: 'text/event-stream' }

test('events arrive one by one as they are sent, and the head before the first of them', async (t) => {
  let target: ServerResponse | undefined
  const origin = await listening(t, (_request, response) => {
    target = response
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  })
  const { main } = await proxied(t, origin)

  for (const asked of [{ headers: SSE }, { ...call(1), headers: { ...SSE } }]) {
    const response = await openRequest(main, asked)
    for (const event of ['data: 1\n\n', 'data: 2\n\n', ': ping\n\n']) {
      target?.write(event)
      const [chunk] = await once(response, 'data')
      assert.equal(String(chunk), event)
    }
    response.destroy()
  }
})

test('a caller that reads slowly slows down the target', async (t) => {
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
    // Nothing is read from here on: the target stops when all buffers are full.
    let last = -1
    while (last !== written) {
      last = written
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
    assert.ok(written < BODY / 2, `${written} were taken from the target`)
    socket.destroy()
  }
})

test('a stop ends listening streams at once, and waits for a response in flight', async (t) => {
  let finish: () => void = () => {}
  const origin = await listening(t, (request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: begun\n\n')
    if (request.method === 'POST') finish = () => response.end('data: done\n\n')
  })
  const { main, running } = await proxied(t, origin)
  const answer = await openRequest(main, { ...call(1), headers: SSE })
  await once(answer, 'data')
  const finishAnswer = finish
  const streams = [
    await openRequest(main, { headers: SSE }),
    await openRequest(main, { ...call(2), headers: { ...SSE, 'mcp-method': 'subscriptions/listen' } }),
  ]
  const closed = Promise.all(
    streams.map(async (stream) => {
      stream.on('error', () => {})
      await once(stream, 'data')
      await new Promise((resolve) => stream.on('close', resolve))
    }),
  )

  const stopped = running.stop(20_000)
  setTimeout(finishAnswer, 200)
  const [last] = await once(answer, 'data')
  assert.equal(String(last), 'data: done\n\n')
  const started = Date.now()
  await Promise.all([stopped, closed])
  assert.ok(Date.now() - started < 5_000)
})

test('a WebSocket is forwarded byte for byte, through credentials and guards', async (t) => {
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
