import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { fakeClock } from '#kit/fake-clock.js'
import { listening } from '#kit/listening.js'
import { frozenTarget } from './frozen-target.js'
import { proxied, renewable, send } from './proxied.js'
import { answerTo } from './raw-target.js'

// More than the buffers of a connection hold, and less than is kept of a body.
const BODY = Buffer.alloc(12 * 1024 ** 2, 'x')
const BYTES_PER_MS = 4_800

test('a TLS handshake that never ends causes a 504 after the time to connect (T16)', {
  timeout: 20_000,
}, async (t) => {
  const clock = fakeClock(t)
  const target = await frozenTarget(t)
  const { main } = await proxied(t, `https://${target.host}`)
  const requests = [
    'HEAD / HTTP/1.1\r\nHost: a\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n',
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n${'x'.repeat(100_000)}`,
    'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  ]

  const answers = requests.map((request) => answerTo(main, request))
  await eventually(() => target.sockets.length === requests.length)
  await clock.advance(10_000)
  for (const { line } of await Promise.all(answers)) assert.match(line, /^HTTP\/1.1 504 /)
})

for (const framing of ['content-length', 'transfer-encoding']) {
  for (const [name, more] of [
    ['streamed', []],
    ['kept', [renewable]],
  ] as const) {
    const large = {
      method: 'POST',
      headers: { [framing]: framing.startsWith('c') ? String(BODY.length) : 'chunked' },
      body: BODY,
    }

    test(`a target that stops reading causes a 504 (T16): ${framing}, ${name}`, {
      timeout: 20_000,
    }, async (t) => {
      const target = await frozenTarget(t)
      const { main } = await proxied(t, `http://${target.host}`, { targetTimeout: 500 }, more)
      assert.equal((await send(main, large)).status, 504)
    })

    test(`a target that reads slowly has all the time it needs: ${framing}, ${name}`, async (t) => {
      let size = 0
      const start = performance.now()
      const origin = await listening(t, (request, response) => {
        request.on('data', (chunk: Buffer) => {
          size += chunk.length
          const early = size / BYTES_PER_MS - (performance.now() - start)
          if (early <= 0) return
          request.pause()
          setTimeout(() => request.resume(), early)
        })
        request.on('end', () => response.end())
      })
      const { main } = await proxied(t, origin, { targetTimeout: 2_000 }, more)
      assert.equal((await send(main, large)).status, 200)
      assert.equal(size, BODY.length)
    })
  }
}
