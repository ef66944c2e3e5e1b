import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { recordedLog } from '#kit/booted.js'
import { deferred } from '#kit/deferred.js'
import { JwksCache } from '#plugins/auth/provider/jwks-cache.js'
import { JwksSource } from '#plugins/auth/provider/jwks-source.js'

test('a fetch that ends after the stop is the last one', async (t) => {
  const { promise, resolve } = deferred<Response>()
  let fetches = 0
  const source = new JwksSource({
    issuer: 'https://idp.example',
    jwksUrl: 'https://idp.example/keys',
    fetch: () => {
      fetches++
      return promise
    },
    metadata: () => [],
    onDiscovered: () => {},
  })
  const cache = new JwksCache({
    provider: 'corp',
    source,
    latest: { fetched: undefined, at: 0 },
    maxStale: 0,
    log: recordedLog().log,
    fetches: () => {},
  })
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const loading = cache.load()

  cache.stop()
  resolve(Response.json({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one' }] }))
  await loading

  assert.deepEqual(cache.ids, ['one'])
  t.mock.timers.tick(86_400_000)
  assert.equal(fetches, 1)
})
