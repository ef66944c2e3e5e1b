import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listening } from '#kit/listening.js'
import { dial } from '#kit/raw.js'
import { call, proxied, renewable, send } from './proxied.js'
import { rawTarget } from './raw-target.js'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'

test('a body below the minimum rate is a 408, buffered or streamed; one at the rate is not (T16)', async (t) => {
  const target = await rawTarget(t, () => OK)
  const { main } = await proxied(t, target.origin, { bodyTimeout: 400, bodyRate: 1000 })
  const trickled = async (piece: number, pieces: number, framing: string): Promise<string> => {
    const socket = dial(main).setNoDelay(true)
    t.after(() => socket.destroy())
    let heard = ''
    socket.on('data', (chunk) => {
      heard += String(chunk)
    })
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${framing}\r\n\r\n`)
    const text = framing.endsWith('chunked')
      ? `${piece.toString(16)}\r\n${'x'.repeat(piece)}\r\n`
      : 'x'.repeat(piece)
    let sent = 0
    const timer = setInterval(() => {
      if (sent++ < pieces) socket.write(text)
      else if (framing.endsWith('chunked') && sent === pieces + 2) socket.write('0\r\n\r\n')
    }, 20)
    // A reset after the response is no failure: the gateway has not read the sent part of the body.
    socket.on('error', () => {})
    await new Promise((resolve) => socket.once('close', resolve))
    clearInterval(timer)
    return heard.slice(9, 12)
  }

  const framings = (bytes: number): readonly string[] => [
    `Content-Length: ${bytes}`,
    'Transfer-Encoding: chunked',
  ]
  const slow = framings(9_000_000).map((framing) => trickled(1, 2_000, framing))
  const steady = framings(60 * 200).map((framing) => trickled(200, 60, framing))
  assert.deepEqual(await Promise.all([...slow, ...steady]), ['408', '408', '200', '200'])
})

test('a body is not too slow while the target does not read', async (t) => {
  const origin = await listening(t, (request, response) => {
    setTimeout(() => request.resume().on('end', () => response.end('all of it')), 1_000)
  })
  const { main } = await proxied(t, origin, { bodyTimeout: 200, bodyRate: 100_000 })
  const { status, body } = await send(main, { method: 'POST', body: Buffer.alloc(48 * 1024 ** 2) })
  assert.deepEqual([status, body], [200, 'all of it'])
})

test('a body that arrives whole before its response costs no timer', async (t) => {
  const target = await rawTarget(t, () => OK)
  const bodyTimeout = 54_321
  const deny = { use: 'policy/tools', with: { rules: [{ deny: ['secret'] }] } }
  for (const more of [[], [renewable], [deny]]) {
    const { main } = await proxied(t, target.origin, { bodyTimeout }, more)
    const timers = t.mock.method(globalThis, 'setTimeout')
    const headers = { connection: 'keep-alive', 'content-type': 'application/json' }
    for (const all of [headers, { ...headers, 'transfer-encoding': 'chunked' }]) {
      assert.equal((await send(main, { ...call(1), headers: all })).status, 200)
    }
    timers.mock.restore()
    assert.ok(timers.mock.calls.every((made) => made.arguments[1] !== bodyTimeout))
  }
})
