import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePlugin, Guard } from 'sallyport'
import { serving } from '#kit/booted.js'

const listTo = (guard: Guard) => [
  { use: 'listen/http', with: { address: '127.0.0.1:0' } },
  { use: 'auth/anonymous' },
  {
    use: definePlugin({
      name: 'looks',
      api: 1,
      provides: [Guard],
      setup: (gateway) => gateway.provide(Guard, guard),
    }),
  },
  {
    use: definePlugin({
      name: 'route',
      api: 1,
      setup: ({ http }) => void http.post('/', ({ body }) => ({ body })),
    }),
  },
]

const json = { method: 'POST', headers: { 'content-type': 'application/json' } }

test('a route gets the body that a guard has read, and everybody who asks gets the same', async (t) => {
  const seen: string[] = []
  const { addresses } = await serving(
    t,
    listTo(async (request) => {
      const [first, second] = await Promise.all([request.wholeBody(), request.wholeBody()])
      assert.equal(first, second)
      seen.push(String(first))
    }),
  )
  const main = addresses.main ?? ''

  const response = await fetch(main, { ...json, body: '{"a":1}' })
  assert.deepEqual(await response.json(), { body: { a: 1 } })
  assert.equal((await fetch(`${main}/none`)).status, 404)
  assert.deepEqual(seen, ['{"a":1}', ''])
})

test('too large a body is 413, also for a route behind a guard that went on all the same', async (t) => {
  const { addresses } = await serving(
    t,
    listTo(async (request) => {
      const look = request.wholeBody(4)
      if (request.headers['x-lenient'] === undefined) await look
      else await look.catch(() => {})
    }),
  )
  const leniency: Record<string, string>[] = [{}, { 'x-lenient': '1' }]
  for (const lenient of leniency) {
    const headers = { ...json.headers, ...lenient }
    const response = await fetch(addresses.main ?? '', { ...json, headers, body: '{"a":1}' })
    assert.equal(response.status, 413)
  }
})
