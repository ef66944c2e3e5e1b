import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CachedResponse, ResponseCache } from '#plugins/registry/cached-response.js'

const responseOf = (bytes: number): CachedResponse => new CachedResponse(Buffer.alloc(bytes), 'tag')
const URLS = ['/a', '/b', '/c', '/d', '/e', '/f', '/g', '/h']
const ROOM = 4 * (responseOf(1_000).size + 4)

test('a full cache evicts the oldest response that no request has read', () => {
  const cache = new ResponseCache(ROOM)
  for (const url of ['/a', '/b', '/c', '/d']) cache.add(url, responseOf(1_000))
  assert.ok(cache.get('/a'))
  cache.add('/e', responseOf(1_000))
  const kept = ['/a', '/b', '/c', '/d', '/e'].filter((url) => cache.get(url) !== undefined)
  assert.deepEqual(kept, ['/a', '/c', '/d', '/e'])
})

test('whatever requests add and read, the cache returns the first response until it evicts it, within its size', () => {
  const step = fc.record({ url: fc.constantFrom(...URLS), bytes: fc.nat(8_000), asks: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const cache = new ResponseCache(ROOM)
      const added = new Map<string, CachedResponse>()
      for (const { url, bytes, asks } of steps) {
        if (asks) {
          cache.get(url)
          continue
        }
        const response = responseOf(bytes)
        const before = cache.get(url)
        const sent = cache.add(url, response)
        assert.equal(sent, before ?? response)
        added.set(`${url} ${bytes} ${added.size}`, response)
        const size = sent.size + 2 * url.length
        assert.equal(cache.get(url), size <= ROOM ? sent : undefined)
        // Looking at all of them reads all.
        const held = URLS.flatMap((each) => cache.get(each) ?? [])
        assert.ok(held.every((each) => [...added.values()].includes(each)))
        assert.ok(held.reduce((sum, each) => sum + each.size, 0) <= ROOM)
      }
    }),
  )
})
