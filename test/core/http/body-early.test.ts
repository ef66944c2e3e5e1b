import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { fakeClock } from '#kit/fake-clock.js'
import { listen, plugin } from '#kit/plugin.js'
import { dial, sendRaw } from '#kit/raw.js'

const post = (length: number, version = '1.1', more = ''): string =>
  `POST /nothing HTTP/${version}\r\nHost: a\r\n${more}Content-Length: ${length}\r\n\r\n`

for (const head of [
  post(2_000_000),
  post(2_000_000, '1.0'),
  post(2_000_000, '1.1', 'Connection: close\r\n'),
]) {
  const [line, , connection = ''] = head.split('\r\n')
  test(`a refusal before the end of the body ends the connection after reading the rest (${line}, ${connection})`, async (t) => {
    // Without an authenticator every request is refused.
    const { main = '' } = (await serving(t, [listen])).addresses
    const socket = connect({ port: Number(new URL(main).port), host: '127.0.0.1', allowHalfOpen: true })
    t.after(() => void socket.destroy())
    const closed = once(socket, 'close')
    // Like a proxy in front that has dropped the rest: the gateway could read the next request as that rest.
    socket.write(`${head}${'x'.repeat(1_000_000)}`)
    const [answer] = await once(socket, 'data')
    assert.match(String(answer), /^HTTP\/1\.1 401 [\s\S]*connection: close/i)

    socket.end('x'.repeat(1_000_000))
    assert.deepEqual(await closed, [false])
  })
}

test('a refusal keeps the connection when the body has arrived with its head', async (t) => {
  const { main = '' } = (await serving(t, [listen])).addresses
  const socket = dial(main)
  t.after(() => void socket.destroy())
  for (const _time of ['first', 'second']) {
    socket.write(`${post(2)}{}`)
    const [answer] = await once(socket, 'data')
    assert.match(String(answer), /^HTTP\/1\.1 401 [\s\S]*connection: keep-alive/i)
  }
})

test('the gateway stops reading the rest of a body that arrives drop by drop (T16)', async (t) => {
  const clock = fakeClock(t, Date.UTC(2026, 0, 1))
  const { main = '' } = (await serving(t, [listen])).addresses
  const socket = dial(main)
  t.after(() => void socket.destroy())
  socket.write(`${post(9)}x`)
  await once(socket, 'data')

  await clock.advance(59_000)
  await new Promise((written) => socket.write('x', written))
  assert.equal(socket.closed, false)
  await clock.advance(1_000)
  await eventually(() => socket.closed)
})

test('the gateway does not wait for a body that was too slow, or that awaits 100 Continue', async (t) => {
  const route = plugin('route', ({ http }) => void http.post('/', { config: { public: true } }, () => 'read'))
  const { main = '' } = (await serving(t, [listen, route], { bodyDeadline: 50 })).addresses
  const head = 'Host: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n'
  const began = performance.now()
  assert.match(await sendRaw(main, `POST / HTTP/1.1\r\n${head}\r\n`), /^HTTP\/1\.1 408 /)
  const unasked = await sendRaw(main, `POST /nothing HTTP/1.1\r\n${head}Expect: 100-continue\r\n\r\n`)
  assert.match(unasked, /^HTTP\/1\.1 401 [\s\S]*connection: close/i)
  assert.ok(performance.now() - began < 20_000)
})
