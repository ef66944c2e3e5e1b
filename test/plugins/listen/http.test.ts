import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { ConfigError } from 'sallyport'
import { serving } from '#kit/booted.js'
import { listen } from '#kit/plugin.js'
import { dial } from '#kit/raw.js'
import { secureListener } from '#kit/tls.js'
import { variables } from '#kit/variables.js'

// Node checks the timeouts at intervals.
const INTERVAL = 5_000
const HEADERS_TIMEOUT = 300

test('a client whose headers arrive too slowly gets a 408, byte by byte or not at all (T16)', async (t) => {
  const origins: string[] = []
  for (const entry of [listen, secureListener(t)]) {
    const options = { ...entry.with, headersTimeout: HEADERS_TIMEOUT }
    const running = await serving(t, [{ ...entry, with: options }, { use: 'auth/anonymous' }])
    origins.push(running.addresses.main ?? '')
  }

  const outcomes = origins
    .flatMap((main) => ['', 'GET / HTTP/1.1\r\nHost: a\r\nX: '].map((begun) => ({ main, begun })))
    .map(async ({ main, begun }) => {
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

test('the drain delay is the configured one, else 5 s in Kubernetes, else 0', async (t) => {
  const delayOf = async (drainDelay?: unknown): Promise<number> => {
    const options = { address: '127.0.0.1:0', ...(drainDelay !== undefined && { drainDelay }) }
    const running = await serving(t, [{ use: 'listen/http', with: options }])
    const delay = running.drainDelay
    await running.stop(0, 0)
    return delay
  }
  variables(t, { KUBERNETES_SERVICE_HOST: undefined })
  assert.deepEqual([await delayOf(), await delayOf('1m30s'), await delayOf(0)], [0, 90_000, 0])
  variables(t, { KUBERNETES_SERVICE_HOST: '10.0.0.1' })
  assert.deepEqual([await delayOf(), await delayOf('1s'), await delayOf(0)], [5_000, 1_000, 0])
  for (const wrong of [5, '5', -1, '600h', 'x']) await assert.rejects(delayOf(wrong), ConfigError)
})
