import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import type { Entry } from 'sallyport'
import { serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { listen } from '#kit/plugin.js'
import { policy } from '../../plugins/forward/hiding.js'
import { TRACEPARENT, tracing } from '../../plugins/forward/observing.js'
import { openRequest, renewed, send } from '../../plugins/forward/proxied.js'

interface Seen {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A traced proxy of either kind, and the bodies that its target gets. */
async function traced(t: TestContext, use: string, more: readonly Entry[] = []) {
  const seen: Seen[] = []
  const origin = await listening(t, (request, response) => {
    void text(request).then((body) => {
      seen.push({ headers: request.headers, body })
      const isRefused = request.headers.authorization === 'Bearer 1'
      response.writeHead(isRefused ? 401 : 200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  const to = use === 'forward/http' ? { target: origin } : { targets: [origin] }
  const open = [listen, { use: 'auth/anonymous' }]
  const { addresses } = await serving(t, [...open, tracing(), ...more, { use, with: to }])
  return { main: addresses.main ?? '', seen }
}

const JSON_TYPE = { 'content-type': 'application/json' }
const post = (body: string, headers = {}) => ({ method: 'POST', headers: { ...JSON_TYPE, ...headers }, body })
const META = `"_meta":{"traceparent":"${TRACEPARENT}"}`

for (const use of ['forward/http', 'forward/balanced']) {
  test(`calls carry the trace in their bodies too, and all other bytes are the caller's: ${use}`, async (t) => {
    const { main, seen } = await traced(t, use)
    const long = 'é'.repeat(100_000)
    const cases: readonly (readonly [string, string])[] = [
      ['{ "id":1,"method":"ping" }', `{"params":{${META}}, "id":1,"method":"ping" }`],
      [
        `{"id":1,"method":"x","params":{"a":1.0,"b":"${long}"}}`,
        `{"id":1,"method":"x","params":{${META},"a":1.0,"b":"${long}"}}`,
      ],
      ['[{"method":"x"},{"id":1,"result":{}}]', `[{"params":{${META}},"method":"x"},{"id":1,"result":{}}]`],
    ]
    for (const [index, [body, expected]] of cases.entries()) {
      assert.equal((await send(main, post(body))).status, 200)
      assert.equal(seen[index]?.body, expected)
      assert.equal(seen[index]?.headers['content-length'], `${Buffer.byteLength(expected)}`)
      assert.equal(seen[index]?.headers['traceparent'], TRACEPARENT)
    }
  })

  test(`a body that was not read, or is no MCP message, stays unchanged: ${use}`, async (t) => {
    const { main, seen } = await traced(t, use)
    const call = '{"id":1,"method":"ping"}'
    const digest = { 'content-digest': 'sha-256=:x:' }
    const bodies = [
      post('{"id":1,'),
      post('{"id":1,"result":{}}'),
      post(call, digest),
      post(call, { trailer: 'X-Sum, Content-Digest' }),
      post(call, { 'content-type': 'text/plain' }),
    ]
    for (const [index, options] of bodies.entries()) {
      assert.equal((await send(main, options)).status, 200)
      assert.equal(seen[index]?.body, options.body)
    }
    assert.equal((await send(main, { ...post(call), method: 'PUT' })).status, 200)
    assert.equal(seen.at(-1)?.body, call)
  })
}

test('a chunked body gets the trace if the gateway has read it', async (t) => {
  const { main, seen } = await traced(t, 'forward/http', [policy()])
  const incoming = await openRequest(main, post('{"method":"ping"}', { 'transfer-encoding': 'chunked' }))
  incoming.resume()
  assert.equal(seen[0]?.body, `{"params":{${META}},"method":"ping"}`)
  assert.equal(seen[0]?.headers['content-length'], undefined)
})

test('a body that was read for a policy gets the trace, and so does one that is sent again', async (t) => {
  const { main, seen } = await traced(t, 'forward/http', [policy(), renewed])
  assert.equal((await send(main, post('{"id":1,"method":"ping"}'))).status, 200)
  assert.deepEqual(
    seen.map(({ body }) => body),
    Array(2).fill(`{"params":{${META}},"id":1,"method":"ping"}`),
  )
})

test('a body with a digest in its trailers stays unchanged', async (t) => {
  const { main, seen } = await traced(t, 'forward/http', [policy()])
  const call = '{"id":1,"method":"ping"}'
  const status = await new Promise((resolve, reject) => {
    const headers = { ...JSON_TYPE, 'transfer-encoding': 'chunked' }
    const asking = httpRequest(main, { method: 'POST', headers, agent: false })
    asking.on('error', reject).on('response', (response) => resolve(response.resume().statusCode))
    asking.write(call)
    asking.addTrailers({ 'Repr-Digest': 'sha-256=:x:' })
    asking.end()
  })
  assert.equal(status, 200)
  assert.equal(seen[0]?.body, call)
})

test('a signature covers the bytes that are sent, however the body arrived and whichever plugin has read it', async (t) => {
  const folder = join(import.meta.dirname, '../../../examples/signed-requests')
  const keyFile = join(folder, 'signing.key')
  const key = readFileSync(keyFile, 'utf8').trim()
  const { default: hmac } = await import(join(folder, 'hmac.mjs'))
  const call = '{"id":1,"method":"ping"}'
  const chunked = { 'transfer-encoding': 'chunked' }
  const framings = [{}, chunked, { expect: '100-continue' }, { ...chunked, expect: '100-continue' }]
  for (const more of [[], [policy()]]) {
    const { main, seen } = await traced(t, 'forward/http', [...more, { use: hmac, with: { keyFile } }])
    for (const headers of framings) assert.equal((await send(main, post(call, headers))).status, 200)
    for (const { headers, body } of seen) {
      const signature = createHmac('sha256', key).update(body).digest('hex')
      assert.equal(headers['x-signature'], `sha256=${signature}`, body)
    }
    const isRead = more.length > 0
    assert.deepEqual(
      seen.map(({ body }) => body.includes('_meta')),
      [true, isRead, isRead, isRead],
    )
  }
})
