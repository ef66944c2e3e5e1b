import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { Guard } from 'sallyport'
import { ask } from '#kit/ask.js'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { listen, plugin, providing } from '#kit/plugin.js'
import { slowRoute } from '../kernel/slow-route.js'

test('T16 pipelined requests of a connection that closes are removed', async (t) => {
  let waiting = 0
  const slow = providing('slow', Guard, () => void waiting++)
  const hold = plugin('hold', ({ http }) =>
    http.get('/hold', { config: { public: true } }, () => new Promise(() => {})),
  )
  const running = await serving(t, [listen, slow, hold], { drainLimit: 30_000 })
  const { port } = new URL(running.addresses.main ?? '')

  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write('GET /hold HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(20))
  await eventually(() => (waiting === 20 ? true : undefined))
  socket.destroy()

  const began = Date.now()
  await running.stop()
  assert.ok(Date.now() - began < 5_000, 'a stop waits for nobody who has left')
})

test('T16 a connection on which more than 64 requests wait behind one is ended', async (t) => {
  let admitted = 0
  const hold = plugin('hold', ({ http }) =>
    http.get('/hold', { config: { public: true } }, () => {
      admitted++
      return new Promise(() => {})
    }),
  )
  const running = await serving(t, [listen, hold])
  const socket = connect(Number(new URL(running.addresses.main ?? '').port), '127.0.0.1')
  const request = 'GET /hold HTTP/1.1\r\nhost: x\r\n\r\n'
  socket.write(request.repeat(65))
  await eventually(() => admitted === 65)
  assert.equal(socket.readyState, 'open')

  socket.write(request)
  await eventually(() => socket.closed)
})

test('a connection with pipelined requests is left as it was by each list that served it', async (t) => {
  const sockets: Socket[] = []
  const answer = plugin('answer', ({ http }) =>
    http.get('/', { config: { public: true } }, ({ raw }) => String(sockets.push(raw.socket))),
  )
  const running = await serving(t, [listen, answer])
  const socket = connect(Number(new URL(running.addresses.main ?? '').port), '127.0.0.1')
  t.after(() => socket.destroy())

  const counts: (number | undefined)[] = []
  for (const round of [1, 2, 3]) {
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(3))
    await eventually(() => sockets.length === 3 * round)
    await running.swap([listen, answer])
    counts.push(sockets[0]?.listenerCount('close'))
  }

  assert.deepEqual(counts, [counts[0], counts[0], counts[0]])
})

test('a stop lets a slow client read a whole response', async (t) => {
  const size = 20_000_000
  const large = plugin('large', ({ http }) =>
    http.get('/', { config: { public: true } }, () => 'x'.repeat(size)),
  )
  const running = await serving(t, [listen, large])
  const { port } = new URL(running.addresses.main ?? '')

  const socket = connect(Number(port), '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await once(socket, 'readable')
  const stopped = running.stop()
  let read = 0
  for await (const chunk of socket) read += (chunk as Buffer).length

  assert.ok(read > size, `${read} of ${size} bytes`)
  await stopped
})

test('a stop lets requests in flight finish and accepts no new ones', async (t) => {
  const { entry, arrival, finish } = slowRoute()
  const running = await serving(t, [listen, entry])
  const url = running.addresses.main ?? ''

  const waiting = ask(`${url}/slow`)
  await arrival
  const stopped = running.stop()
  await assert.rejects(ask(url), { code: 'ECONNREFUSED' })
  finish('done')

  const answer = await waiting
  assert.equal(answer.text, 'done')
  assert.equal(answer.headers.connection, 'close')
  await stopped
})

test('an open event stream does not hold up a stop', async (t) => {
  const events = plugin('events', ({ http }) =>
    http.get('/', { config: { public: true } }, (_request, reply) => {
      reply.hijack()
      reply.raw.setHeader('content-type', 'text/event-stream')
      reply.raw.writeHead(200)
      reply.raw.write('data: 1\n\n')
    }),
  )
  const running = await serving(t, [listen, events], { drainLimit: 60_000 })
  const [stream] = (await once(get(running.addresses.main ?? ''), 'response')) as [IncomingMessage]
  await once(stream, 'data')

  const began = Date.now()
  const ended = once(stream, 'close').catch(() => {})
  await running.stop()
  await ended
  assert.ok(Date.now() - began < 5_000)
})
