import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { ask } from '#kit/ask.js'
import { serving } from '#kit/booted.js'
import { listen, plugin } from '#kit/plugin.js'
import { slowRoute } from '../kernel/slow-route.js'

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
