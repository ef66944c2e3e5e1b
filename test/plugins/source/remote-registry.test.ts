import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR, twoClocks } from '#kit/two-clocks.js'
import { RemoteRegistry } from '#plugins/source/remote-registry.js'

test('the source reads everything again so long after the date of a bookmark, whichever process wrote it', async (t) => {
  const clock = twoClocks(t, { stopped: true })
  const urls: string[] = []
  const started = () =>
    new RemoteRegistry('https://r.example', {
      fetch: async (url) => {
        urls.push(String(url))
        return new Response('{"servers":[]}')
      },
      headers: {},
      wholeEvery: HOUR,
      maxBytes: 1_000,
    })
  const { signal } = new AbortController()
  const isWhole = async (registry: RemoteRegistry, wholeAt: number): Promise<boolean> => {
    await registry.read({ signal, bookmark: JSON.stringify({ since: 0, wholeAt }), held: 0 })
    return urls.at(-1)?.includes('updated_since') === false
  }
  const now = Date.now()
  assert.equal(await isWhole(started(), now - HOUR + 1), false)
  assert.equal(await isWhole(started(), now - HOUR), true)
  assert.equal(await isWhole(started(), now + 1), true, 'nobody knows how old it is')

  const running = started()
  assert.equal(await isWhole(running, now), false)
  clock.passed(HOUR - 1)
  assert.equal(await isWhole(running, now), false)
  clock.passed(HOUR)
  assert.equal(await isWhole(running, now), true)
})
