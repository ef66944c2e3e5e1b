import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { eventually } from '#kit/captured-log.js'
import { listening } from '#kit/listening.js'
import { dial } from '#kit/raw.js'
import { proxied, send } from '../../plugins/forward/proxied.js'

const toolCall = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a' } }
const batchOf = (size: number) => JSON.stringify(Array.from({ length: size }, () => toolCall))
const limitedTo = (...limits: readonly object[]) => ({ use: 'limit/requests', with: { limits } })
const byCaller = limitedTo({ by: 'caller', rate: '10/1m' })
const JSON_TYPE = { 'content-type': 'application/json' }

/** A proxy with limits, and the bytes of each body that the target got. */
async function limited(t: TestContext, limits = byCaller) {
  const bodies: Buffer[] = []
  const received = { bytes: 0 }
  const origin = await listening(t, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => {
      received.bytes += chunk.length
      chunks.push(chunk)
    })
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks))
      response.end('done')
    })
  })
  const { main } = await proxied(t, origin, {}, [limits])
  const post = async (body: string | Buffer, headers: Record<string, string> = JSON_TYPE) =>
    (await send(main, { method: 'POST', headers, body })).status
  return { main, bodies, received, post }
}

for (const by of ['caller', 'address']) {
  test(`each call of a batch counts with a limit by ${by} alone`, async (t) => {
    const { post, bodies } = await limited(t, limitedTo({ by, rate: '10/1m' }))
    assert.equal(await post(batchOf(11)), 429)
    assert.equal(await post(batchOf(8)), 200)
    assert.deepEqual([await post(batchOf(3)), await post(batchOf(2))], [429, 200])
    assert.deepEqual(bodies.map(String), [batchOf(8), batchOf(2)])
  })
}

test('a batch is recognized however it begins, arrives or is framed', async (t) => {
  const batch = batchOf(9)
  const bytes = Buffer.from(batch)
  const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes])
  const ways: readonly (readonly [string | Buffer, Record<string, string>, number])[] = [
    [`  \r\n\t${batch}`, {}, 200],
    [' '.repeat(300_000) + batch, {}, 200],
    [batch, { 'transfer-encoding': 'chunked' }, 200],
    [batch, { expect: '100-continue' }, 200],
    [marked, {}, 400],
    [Buffer.from(batch, 'utf16le'), {}, 400],
    [Buffer.from(batch, 'utf16le').swap16(), {}, 400],
    [gzipSync(batch), { 'content-encoding': 'gzip' }, 400],
    ['+AFs-', { 'content-type': 'application/json; charset=utf-7' }, 400],
    ['[1, 2]', {}, 400],
    ['[', {}, 400],
  ]
  for (const [body, headers, status] of ways) {
    const { post, bodies } = await limited(t)
    const what = `${JSON.stringify(headers)} ${String(body).slice(0, 20)}`
    assert.equal(await post(body, { ...JSON_TYPE, ...headers }), status, what)
    assert.equal(bodies.length, status === 200 ? 1 : 0, what)
    assert.equal(await post(batchOf(2)), status === 200 ? 429 : 200, what)
  }
})

test('a batch that begins with white space and arrives in pieces is recognized', async (t) => {
  const { main, post } = await limited(t)
  const batch = batchOf(9)
  const socket = dial(main)
  t.after(() => socket.destroy())
  socket.write(
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${batch.length + 2}\r\n\r\n`,
  )
  for (const piece of [' ', '\n', batch.slice(0, 1), batch.slice(1)]) {
    socket.write(piece)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1.1 200 /)
  assert.equal(await post(batchOf(2)), 429)
})

test('every other body passes unread and unchanged, and each counts once', async (t) => {
  const { main, post, bodies, received } = await limited(t)
  const large = Buffer.alloc(3_000_000, 'x')
  const sent: readonly (readonly [string | Buffer, Record<string, string>])[] = [
    [JSON.stringify(toolCall), JSON_TYPE],
    ['a=1', { 'content-type': 'text/plain' }],
    ['any', { 'content-type': 'text/plain', 'content-encoding': 'gzip' }],
    ['{"no": "JSON', JSON_TYPE],
    ['  \n ', JSON_TYPE],
    [large, { 'transfer-encoding': 'chunked' }],
    [large, { expect: '100-continue' }],
    ['', { 'transfer-encoding': 'chunked' }],
  ]
  for (const [body, headers] of sent) assert.equal(await post(body, headers), 200, JSON.stringify(headers))
  assert.ok(sent.every(([body], index) => Buffer.from(body).equals(bodies[index] ?? large.subarray(1))))

  // The target gets the bytes as they arrive.
  const before = received.bytes
  const socket = dial(main)
  t.after(() => socket.destroy())
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n')
  await new Promise((resolve) => setTimeout(resolve, 20))
  socket.write('x'.repeat(500_000))
  await eventually(() => received.bytes - before === 500_000)

  assert.deepEqual([await post('x', JSON_TYPE), await post('x', JSON_TYPE)], [200, 429])
})

test('an empty body that ends late is passed on as it is', async (t) => {
  const { main, bodies } = await limited(t)
  const socket = dial(main)
  t.after(() => socket.destroy())
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
  await new Promise((resolve) => setTimeout(resolve, 20))
  socket.write('0\r\n\r\n')
  assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1.1 200 /)
  assert.deepEqual(bodies.map(String), [''])
})

test('a wait for the first byte ends when the client leaves', async (t) => {
  const { main, post, bodies } = await limited(t)
  const socket = dial(main)
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n')
  await new Promise((resolve) => setTimeout(resolve, 20))
  socket.destroy()
  assert.equal(await post(batchOf(9)), 200)
  assert.equal(bodies.length, 1)
})
