import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { type Capability, type Gateway, Guard } from 'sallyport'
import { recordedLog, serving } from '#kit/booted.js'
import { listen, plugin } from '#kit/plugin.js'
import { dial, sendRaw } from '#kit/raw.js'

const strange = (setup: (gateway: Gateway) => unknown, ...provides: Capability[]) =>
  plugin('strange', setup, { provides })

const open = { config: { public: true } }

for (const framing of ['Content-Length: 100', 'Transfer-Encoding: chunked']) {
  test(`a body that never ends is refused after its deadline: ${framing}`, async (t) => {
    const { addresses } = await serving(
      t,
      [listen, strange(({ http }) => void http.post('/', open, () => 'read'))],
      { bodyDeadline: 100 },
    )
    const { hostname, port } = new URL(addresses.main ?? '')
    const socket = connect(Number(port), hostname)
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`)
    let answer = ''
    socket.on('data', (chunk) => {
      answer += String(chunk)
    })
    await once(socket, 'close')
    assert.match(answer, /^HTTP\/1\.1 408 /)
    assert.match(answer, /"error":"body_too_slow"/)
  })
}

test('a client that disconnects during authentication leaves no timer', async (t) => {
  const { log, lines } = recordedLog()
  let leave: () => void = () => {}
  const { addresses } = await serving(
    t,
    [
      listen,
      strange((gateway) => {
        gateway.provide(Guard, async ({ raw, headers }) => {
          if (headers['x-leaves'] === undefined) return
          leave()
          await once(raw.socket, 'close')
        })
        gateway.http.post('/', open, () => 'read')
      }, Guard),
    ],
    { bodyDeadline: 100, log },
  )
  const head = 'Host: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n'
  const leaving = dial(addresses.main ?? '')
  leave = () => leaving.destroy()
  leaving.write(`POST / HTTP/1.1\r\nX-Leaves: 1\r\n${head}`)
  await once(leaving, 'close')

  // The deadline of this body passes later than that of the first one.
  assert.match(await sendRaw(addresses.main ?? '', `POST / HTTP/1.1\r\n${head}`), /^HTTP\/1\.1 408 /)
  assert.equal(lines.filter(({ refused }) => refused === 'BODY_TOO_SLOW').length, 1)
})

test('a body that comes in time is read', async (t) => {
  const { addresses } = await serving(t, [
    listen,
    strange(({ http }) => void http.post('/', open, ({ body }) => body)),
  ])
  const answer = await fetch(`${addresses.main}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"a":1}',
  })
  assert.deepEqual(await answer.json(), { a: 1 })
})
