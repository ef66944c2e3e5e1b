import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import type { FastifyReply } from 'fastify'
import { Guard } from 'sallyport'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { listen, plugin, providing } from '#kit/plugin.js'

const open = { config: { public: true } }
const portOf = (url: string | undefined): number => Number(new URL(url ?? '').port)

test('T16 for a client that does not read, the gateway makes one response, whatever the client sends', async (t) => {
  let made = 0
  const large = plugin('large', ({ http }) =>
    http.get('/', open, () => {
      made++
      return Buffer.alloc(16_000_000)
    }),
  )
  const running = await serving(t, [listen, large])
  const stalled = connect(portOf(running.addresses.main), '127.0.0.1')
  t.after(() => stalled.destroy())
  stalled.pause()
  stalled.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(60))
  await eventually(() => made > 0)

  const other = connect(portOf(running.addresses.main), '127.0.0.1')
  other.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  let read = 0
  for await (const chunk of other) read += (chunk as Buffer).length

  assert.ok(read > 16_000_000)
  assert.equal(made, 2)
})

test('requests of one connection are handled in order, each after the response before it has ended', async (t) => {
  const begun: string[] = []
  const waiting = new Map<string, FastifyReply>()
  const hold = plugin('hold', ({ http }) => {
    http.all<{ Params: { name: string } }>('/:name', open, ({ params: { name } }, reply) => {
      begun.push(name)
      waiting.set(name, reply)
      return reply
    })
  })
  const running = await serving(t, [listen, hold])
  const socket = connect(portOf(running.addresses.main), '127.0.0.1')
  t.after(() => socket.destroy())
  let text = ''
  socket.on('data', (chunk) => (text += chunk))
  const names = ['a', 'b', 'c', 'd', 'e']
  const body = 'content-length: 3\r\ncontent-type: text/plain\r\n\r\nxyz'
  socket.write(names.map((name) => `POST /${name} HTTP/1.1\r\nhost: x\r\n${body}`).join(''))

  for (const [index, name] of names.entries()) {
    await eventually(() => waiting.has(name))
    assert.deepEqual(begun, names.slice(0, index + 1))
    await waiting.get(name)?.send(`<${name}>`)
    await eventually(() => text.includes(`<${name}>`))
  }
  assert.deepEqual(text.match(/<.>/g)?.join(''), '<a><b><c><d><e>')
  // A later request gets its response too.
  socket.write('GET /f HTTP/1.1\r\nhost: x\r\n\r\n')
  await eventually(() => waiting.has('f'))
})

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
  await eventually(() => waiting === 1)
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
  await eventually(() => admitted === 1)
  assert.equal(socket.readyState, 'open')

  socket.write(request)
  await eventually(() => socket.closed)
})

test('each list that served a connection with pipelined requests leaves no listener on it', async (t) => {
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
