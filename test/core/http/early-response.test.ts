import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { serving } from '#kit/booted.js'
import { listen } from '#kit/plugin.js'
import { dial } from '#kit/raw.js'

const post = (length: number): string =>
  `POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`

test('a refusal before the end of the body ends the connection, whose rest is read', async (t) => {
  // Without an authenticator nobody is let in.
  const { main = '' } = (await serving(t, [listen])).addresses
  const socket = connect({ port: Number(new URL(main).port), host: '127.0.0.1', allowHalfOpen: true })
  t.after(() => void socket.destroy())
  const closed = once(socket, 'close')
  // As a proxy in front does that has dropped the rest: the next request would be taken for it.
  socket.write(`${post(2_000_000)}${'x'.repeat(1_000_000)}`)
  const [answer] = await once(socket, 'data')
  assert.match(String(answer), /^HTTP\/1\.1 401 [\s\S]*connection: close/i)

  socket.end('x'.repeat(1_000_000))
  assert.deepEqual(await closed, [false])
})

test('a refusal keeps the connection when the body has come with its head', async (t) => {
  const { main = '' } = (await serving(t, [listen])).addresses
  const socket = dial(main)
  t.after(() => void socket.destroy())
  for (const _time of ['first', 'second']) {
    socket.write(`${post(2)}{}`)
    const [answer] = await once(socket, 'data')
    assert.match(String(answer), /^HTTP\/1\.1 401 [\s\S]*connection: keep-alive/i)
  }
})
