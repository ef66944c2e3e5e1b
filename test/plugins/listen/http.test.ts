import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { serving } from '../../kit/booted.js'
import { dial } from '../../kit/raw.js'

// Node looks for the late ones from time to time.
const INTERVAL = 5_000
const HEADERS_TIMEOUT = 300

test('headers that come too slowly are 408, byte by byte or not at all (T16)', async (t) => {
  const running = await serving(t, [
    { use: 'listen/http', with: { address: '127.0.0.1:0', headersTimeout: HEADERS_TIMEOUT } },
    { use: 'auth/anonymous' },
  ])
  const main = running.addresses.main ?? ''

  const outcomes = ['', 'GET / HTTP/1.1\r\nHost: a\r\nX: '].map(async (begun) => {
    const socket = dial(main)
    let heard = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      heard += chunk
    })
    socket.write(begun)
    const dribble = setInterval(() => begun !== '' && socket.writable && socket.write('x'), 50)
    const start = performance.now()
    await once(socket, 'close')
    clearInterval(dribble)
    return { heard, took: performance.now() - start }
  })

  for (const { heard, took } of await Promise.all(outcomes)) {
    assert.match(heard, /^HTTP\/1.1 408 /)
    assert.ok(took >= HEADERS_TIMEOUT && took < HEADERS_TIMEOUT + INTERVAL + 2_000, `${took} ms`)
  }
})
