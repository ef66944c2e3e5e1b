import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type Judgement, Policy, type PolicyQuestion } from 'sallyport'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { listen, providing } from '#kit/plugin.js'
import { dial, sendRaw } from '#kit/raw.js'
import { openRequest, proxied, send } from './proxied.js'
import { rawTarget } from './raw-target.js'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'

const judging = (judge: (question: PolicyQuestion) => Judgement | Promise<Judgement>) =>
  providing('judging', Policy, { judge, shows: (_caller, listed) => listed.map(() => true) })

const deniesSecret = judging(({ subject }) =>
  subject?.name === 'secret' ? { allowed: false, reason: 'not for you' } : { allowed: true },
)

const toolCall = (name: string, id: unknown = 7, filling = '') =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: { filling } } })

async function judged(t: TestContext, options: object = {}) {
  const target = await rawTarget(t, () => OK)
  const { main, lines } = await proxied(t, target.origin, { ...options }, [deniesSecret])
  const post = (body: string, headers: Record<string, string> = {}) =>
    send(main, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })
  return { target, main, post, lines }
}

test('the target gets exactly the bytes that the policy judged, however they arrive', async (t) => {
  const { target, post } = await judged(t)
  const odd = ` \n{"params" :{"name":"s\\u0065arch","arguments":{"a":1,"a":2}},"method":"tools\\/call","id":1e0 }\t`
  for (const body of [odd, toolCall('search', 1, 'é'.repeat(300_000))]) {
    const framings: Record<string, string>[] = [
      {},
      { 'transfer-encoding': 'chunked' },
      { expect: '100-continue' },
    ]
    for (const headers of framings) {
      assert.equal((await post(body, headers)).status, 200)
      const sent = target.seen.at(-1)?.body ?? ''
      assert.ok(Buffer.from(sent, 'latin1').equals(Buffer.from(body)), JSON.stringify(headers))
    }
  }
})

test('a body that the gateway requests is sent on, with any framing', async (t) => {
  const { main, target } = await judged(t)
  const body = toolCall('open')
  for (const [expect, framing, sent] of [
    ['Expect', `Content-Length: ${body.length}`, body],
    ['expect', `Content-Length: ${body.length}`, body],
    ['EXPECT', 'Transfer-Encoding: chunked', `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`],
  ] as const) {
    const socket = dial(main)
    t.after(() => socket.destroy())
    socket.write(
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${expect}: 100-continue\r\n${framing}\r\n\r\n`,
    )
    assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1.1 100 /)
    const answered = once(socket, 'data')
    socket.write(sent)
    assert.match(String((await answered)[0]), /^HTTP\/1.1 200 /, framing)
    assert.equal(target.seen.at(-1)?.body, body)
    assert.ok(target.seen.at(-1)?.headers.every(([name]) => !/^expect$/i.test(name)))
  }
})

test('a denied call never reaches the target, and the error has the id of the request', async (t) => {
  const { target, post } = await judged(t)
  for (const [body, id] of [
    [toolCall('secret', 7), 7],
    [toolCall('secret', 'seven'), 'seven'],
    [toolCall('secret', 0.5), 0.5],
    [toolCall('secret', 8, 'x'.repeat(100_000)), 8],
    [toolCall('secret').replace('"id":7,', ''), null],
    [`[${toolCall('open')},${toolCall('secret')}]`, null],
  ] as const) {
    const answer = await post(body)
    assert.equal(answer.status, 403)
    const { jsonrpc, id: answered, error } = JSON.parse(answer.body)
    assert.deepEqual(
      [jsonrpc, answered, error.message, error.data.error],
      ['2.0', id, 'not for you', 'policy_denied'],
    )
  }
  assert.equal(target.seen.length, 0)
})

test('refusals of malformed messages are JSON-RPC errors, each with the code of the protocol', async (t) => {
  const { target, post } = await judged(t)
  const codes = async (body: string, headers?: Record<string, string>) => {
    const answer = await post(body, headers)
    const { id, error } = JSON.parse(answer.body)
    return [answer.status, error.code, error.data.error, id]
  }
  assert.deepEqual(await codes('{'), [400, -32_700, 'message_not_json', null])
  assert.deepEqual(await codes('[]'), [400, -32_600, 'message_malformed', null])
  assert.deepEqual(await codes('{"id":7,"method":"tools/call"}'), [400, -32_602, 'message_unnamed', 7])
  assert.deepEqual(await codes(toolCall('a'), { 'mcp-name': 'b' }), [
    400,
    -32_020,
    'message_header_mismatch',
    7,
  ])
  assert.deepEqual(await codes(toolCall('a'), { 'content-type': 'text/plain' }), [
    400,
    -32_600,
    'message_content_type',
    null,
  ])
  assert.equal(target.seen.length, 0)
})

test('an upgrade and other methods with a body are refused, and bodiless requests pass', async (t) => {
  const { main, target } = await judged(t)
  const upgrade =
    'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: YQ==\r\n\r\n'
  assert.match(await sendRaw(main, upgrade), /^HTTP\/1.1 403 [\s\S]*policy_cannot_judge/)
  for (const method of ['PUT', 'PATCH', 'PROPFIND'])
    assert.equal((await send(main, { method, body: toolCall('open') })).status, 403)
  assert.equal(target.seen.length, 0)
  for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS'])
    assert.equal((await send(main, { method })).status, 200)
  assert.equal(target.seen.length, 4)
})

test('the gateway reads the rest of a body over `maxBody`, so that its caller reads the response', async (t) => {
  const { main, target } = await judged(t, { maxBody: 1_000_000 })
  const head = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'
  const size = 20 * 1024 * 1024
  for (const framing of [`Content-Length: ${size}`, 'Transfer-Encoding: chunked']) {
    const socket = dial(main)
    t.after(() => socket.destroy())
    socket.on('error', () => {})
    let answer = ''
    socket.on('data', (chunk) => {
      answer += String(chunk)
    })
    socket.write(`${head}${framing}\r\n\r\n`)
    const piece = 'x'.repeat(65_536)
    const chunk = framing.startsWith('T') ? `10000\r\n${piece}\r\n` : piece
    let written = 0
    while (written < size) {
      written += piece.length
      if (!socket.write(chunk)) await once(socket, 'drain')
    }
    assert.match(answer, /^HTTP\/1.1 413 /)
  }
  assert.equal(target.seen.length, 0)
  assert.equal(
    (
      await send(main, {
        method: 'POST',
        body: toolCall('a', 1, 'x'.repeat(1_000_000)),
        headers: { 'content-type': 'application/json' },
      })
    ).status,
    413,
  )
})

test('T13 a body that is refused before the gateway requests it ends its connection, and no other does', async (t) => {
  const { main, target } = await judged(t, { maxBody: 1_000 })
  const head = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'
  const unasked = await sendRaw(main, `${head}Expect: 100-continue\r\nContent-Length: 1001\r\n\r\n`)
  assert.match(unasked, /^HTTP\/1.1 413 [\s\S]*connection: close/i)

  const inner = 'GET /inner HTTP/1.1\r\nHost: a\r\n\r\n'
  const next = 'GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
  const chunk = `${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`
  const coded = await sendRaw(main, `${head}Transfer-Encoding: gzip, chunked\r\n\r\n${chunk}${next}`)
  assert.deepEqual(coded.match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 501', 'HTTP/1.1 200'])
  assert.deepEqual(
    target.seen.map(({ line }) => line),
    ['GET /next HTTP/1.1'],
  )
})

test('all bodies that are kept for a policy share one budget, and are freed at the end', async (t) => {
  const { main, post } = await judged(t, { keptBodies: 8 * 300_000 })
  const large = toolCall('open', 1, 'x'.repeat(200_000))
  for (let round = 0; round < 3; round++) assert.equal((await post(large)).status, 200)
  for (let round = 0; round < 3; round++)
    assert.equal((await post(toolCall('secret', 1, 'x'.repeat(200_000)))).status, 403)

  const waiting = connect(Number(new URL(main).port), '127.0.0.1')
  t.after(() => waiting.destroy())
  waiting.write(
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${large.length}\r\n\r\n`,
  )
  waiting.write(large.slice(0, -1))
  await eventually(async () => (await post(large)).status === 503)
  assert.equal((await post(toolCall('open'))).status, 200)
  waiting.destroy()
  await eventually(async () => (await post(large)).status === 200)
})

test('a policy reads 1 MiB at most, and other sizes where `maxBody` is set', async (t) => {
  const sized = (bytes: number) => toolCall('open').padEnd(bytes)
  for (const [options, most] of [
    [{}, 1024 ** 2],
    [{ maxBody: 3_000_000 }, 3_000_000],
    [{ maxBody: 1_000 }, 1_000],
  ] as const) {
    const { post, target } = await judged(t, options)
    assert.equal((await post(sized(most))).status, 200)
    assert.equal((await post(sized(most + 1))).status, 413)
    assert.equal((await post(sized(most + 1), { 'transfer-encoding': 'chunked' })).status, 413)
    assert.equal(target.seen.length, 1)
  }
})

test('a body that stalls while a policy waits for it gets a 408', async (t) => {
  const { main, target } = await judged(t, { bodyTimeout: 200 })
  for (const framing of ['Content-Length: 9', 'Transfer-Encoding: chunked']) {
    const bytes = `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${framing}\r\n\r\n1\r\n`
    assert.match(await sendRaw(main, bytes), /^HTTP\/1.1 408 /, framing)
  }
  assert.equal(target.seen.length, 0)
})

test('a caller that disconnects while a policy decides leaves nothing behind', async (t) => {
  const target = await rawTarget(t, () => OK)
  let decide: (judgement: Judgement) => void = () => {}
  const asked: string[] = []
  const thinks = judging(
    ({ subject }) =>
      new Promise((resolve) => {
        asked.push(subject?.name ?? '')
        decide = resolve
      }),
  )
  const { main, running } = await proxied(t, target.origin, {}, [thinks])
  const socket = dial(main)
  const body = toolCall('open')
  socket.write(
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  await eventually(() => asked.length === 1)
  socket.destroy()
  await once(socket, 'close')
  decide({ allowed: true })
  await running.stop(2_000)
  assert.equal(target.seen.length, 0)
})

test('a request that breaks off in its body is neither judged nor sent', async (t) => {
  const { main, target } = await judged(t)
  const cut = await openRequest(main, { method: 'GET' })
  cut.resume()
  const socket = dial(main)
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{')
  socket.end()
  await once(socket.resume(), 'close')
  assert.equal(target.seen.length, 1)
})

test('`forward/balanced` is judged and limited too, in the form of JSON-RPC', async (t) => {
  const target = await rawTarget(t, () => OK)
  const running = await serving(t, [
    listen,
    { use: 'auth/anonymous' },
    { use: 'limit/requests', with: { limits: [{ by: 'tool', rate: '1/1m' }] } },
    deniesSecret,
    { use: 'forward/balanced', with: { targets: [target.origin] } },
  ])
  const post = async (name: string, headers: Record<string, string> = {}) => {
    const answer = await send(running.addresses.main ?? '', {
      method: 'POST',
      body: toolCall(name),
      headers: { 'content-type': 'application/json', ...headers },
    })
    return [answer.status, answer.body === '' ? undefined : JSON.parse(answer.body).error.code]
  }
  assert.deepEqual(await post('secret'), [403, -32_000])
  assert.deepEqual(await post('open'), [200, undefined])
  assert.deepEqual(await post('open'), [429, 429])
  assert.deepEqual(await post('other', { 'transfer-encoding': 'chunked' }), [200, undefined])
  assert.deepEqual(
    target.seen.map(({ body }) => body),
    [toolCall('open'), toolCall('other')],
  )
})
