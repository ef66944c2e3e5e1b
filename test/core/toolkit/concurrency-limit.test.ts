import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConcurrencyLimit } from 'sallyport/toolkit'

/** How many requests of a client are admitted at once; the waiting ones stay in the queue. */
function admitted(limit: ConcurrencyLimit, client: string, count: number) {
  const all = Array.from({ length: count }, () => limit.acquire(client))
  return {
    releases: all.filter((each) => typeof each === 'function'),
    waiting: all.filter((each) => each instanceof Promise),
  }
}

test('a client has a share, then a queue, and further requests are refused at once', async () => {
  const limit = new ConcurrencyLimit()
  const { releases, waiting } = admitted(limit, '192.0.2.1', 200)
  assert.deepEqual([releases.length, waiting.length], [64, 64])
  assert.equal(admitted(limit, '192.0.2.2', 1).releases.length, 1)

  releases[0]?.()
  assert.equal(typeof (await waiting[0]), 'function', 'the oldest is next')
  for (const late of await Promise.all(waiting.slice(1))) assert.equal(late, undefined)
})

test('all addresses of one network are one client, and each name is a client', () => {
  const limit = new ConcurrencyLimit()
  assert.equal(admitted(limit, '2001:db8::1', 64).releases.length, 64)
  assert.equal(admitted(limit, '2001:db8::2', 1).releases.length, 0)
  assert.equal(admitted(limit, '2001:db8:0:1::1', 64).releases.length, 64)
  assert.equal(admitted(limit, '["corp","ada"]', 64).releases.length, 64)
  assert.equal(admitted(limit, '["corp","bob"]', 65).releases.length, 64)
  assert.equal(admitted(limit, '192.0.2.3', 1).releases.length, 0, 'there are 256 in all')
})
