import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { Guard } from 'sallyport'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { listen, plugin, providing } from '#kit/plugin.js'
import { dial } from '#kit/raw.js'

const listTo = (guard: Guard) => [
  listen,
  { use: 'auth/anonymous' },
  providing('looks', Guard, guard),
  plugin('route', ({ http }) => void http.post('/', ({ body }) => ({ body }))),
]

const json = { method: 'POST', headers: { 'content-type': 'application/json' } }

test('a route gets the body that a guard has read, and every reader gets the same', async (t) => {
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

test('too large a body is 413, also for a route behind a guard that ignored its size', async (t) => {
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

test('a read of a body that a guard has consumed itself fails at once', async (t) => {
  const codes: unknown[] = []
  const { addresses } = await serving(
    t,
    listTo(async (request) => {
      await once(request.raw.resume(), 'end')
      codes.push(await request.wholeBody().catch(({ code }) => code))
    }),
    { bodyDeadline: 60_000 },
  )
  const response = fetch(addresses.main ?? '', { ...json, body: '{"a":1}' })
  await eventually(() => codes.length > 0)
  assert.deepEqual(codes, ['BODY_INCOMPLETE'])
  await response
})

test('each reader of a body has a limit of its own', async (t) => {
  const { addresses } = await serving(
    t,
    listTo(async (request) => {
      assert.equal((await request.wholeBody(7)).length, 7)
      await request.wholeBody(6)
    }),
  )
  assert.equal((await fetch(addresses.main ?? '', { ...json, body: '{"a":1}' })).status, 413)
})

const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`

async function upload(t: TestContext, body: string, context: object) {
  const list = listTo(async (request) => void (await request.wholeBody(4)))
  const { addresses } = await serving(t, list, context)
  const socket = dial(addresses.main ?? '')
  t.after(() => socket.destroy())
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
  await new Promise((resolve) => socket.write(body, resolve))
  return socket
}

test('the gateway reads the rest of too large a body, so that the client reads the response', async (t) => {
  const socket = await upload(t, `${chunk.repeat(400)}0\r\n\r\n`, {})
  assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1.1 413 /)
  assert.deepEqual(await once(socket, 'close'), [false])
})

test('the gateway stops reading the rest of too large a body after a while (T16)', async (t) => {
  const socket = await upload(t, chunk, { bodyDeadline: 200 })
  await once(socket.resume(), 'close')
})
