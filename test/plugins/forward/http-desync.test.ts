import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { listening, opened } from '#kit/listening.js'
import { sendRaw } from '#kit/raw.js'
import { openRequest, proxied } from './proxied.js'
import { answerTo, rawTarget } from './raw-target.js'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'
const HANDSHAKE = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
const transports = [
  ['buffered', 'GET / HTTP/1.1\r\nHost: a\r\n'],
  ['streaming', 'HEAD / HTTP/1.1\r\nHost: a\r\n'],
] as const

test('T13 an upgrade is sent with its body, and the next request is not taken for the body', async (t) => {
  const seen: string[] = []
  // It responds before it reads the body, as most servers do.
  const origin = await listening(t, ({ method, url }, response) => {
    seen.push(`${method} ${url}`)
    response.end()
  })
  const { main } = await proxied(t, origin)

  for (const body of ['Content-Length: 30\r\n\r\n', 'Transfer-Encoding: chunked\r\n\r\n1e\r\n']) {
    const end = body.startsWith('Content') ? '' : '\r\n0\r\n\r\n'
    const upgrade = `GET /ws HTTP/1.1\r\nHost: a\r\n${HANDSHAKE}${body}${'x'.repeat(30)}${end}`
    assert.equal((await answerTo(main, upgrade)).line, 'HTTP/1.1 200 OK')
    assert.equal((await openRequest(main, { method: 'HEAD', path: '/next' })).statusCode, 200)
  }
  assert.deepEqual(seen, ['GET /ws', 'HEAD /next', 'GET /ws', 'HEAD /next'])
})

for (const [transport, request] of transports) {
  test(`T13 a target that changes protocols without an Upgrade gets no socket of a caller (${transport})`, async (t) => {
    const target = await rawTarget(t, () => `HTTP/1.1 101 Switching Protocols\r\n${HANDSHAKE}\r\n`)
    const { main } = await proxied(t, target.origin)
    assert.match(await sendRaw(main, `${request}Connection: close\r\n\r\n`), /^HTTP\/1.1 502 /)
  })

  test(`a response with an unwritable reason phrase is forwarded without it (${transport})`, async (t) => {
    const lines = ['HTTP/1.1 200 O\x01K', 'HTTP/1.1 200 O\x7fK']
    const target = await rawTarget(t, ({ headers }) => {
      const wanted = Number(headers.find(([name]) => name === 'X-Line')?.[1])
      return `${lines[wanted] ?? 'HTTP/1.1 099 Low'}\r\nContent-Length: 0\r\n\r\n`
    })
    const { main } = await proxied(t, target.origin)
    for (const [index, expected] of [
      'HTTP/1.1 200 ',
      'HTTP/1.1 200 ',
      'HTTP/1.1 502 Bad Gateway',
    ].entries()) {
      const answer = await sendRaw(main, `${request}X-Line: ${index}\r\nConnection: close\r\n\r\n`)
      assert.equal(answer.split('\r\n', 1)[0], expected)
    }
  })

  test(`all Connection headers of a response name hop-by-hop headers (${transport})`, async (t) => {
    const target = await rawTarget(
      t,
      () =>
        'HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nConnection: x-hop\r\nX-Hop: 1\r\nX-End: 2\r\nContent-Length: 0\r\n\r\n',
    )
    const { main } = await proxied(t, target.origin)
    const { headers } = await answerTo(main, `${request}\r\n`)
    assert.deepEqual(
      headers.map(([name]) => name).filter((name) => name.startsWith('X-')),
      ['X-End'],
    )
  })
}

test('T13 a header with underscores cannot pass as a credential, framing or a forwarded header', async (t) => {
  const target = await rawTarget(t, () => OK)
  const { main } = await proxied(t, target.origin, {}, [
    {
      use: 'headers/static',
      with: {
        headers: [
          { name: 'X-Tenant', value: 'one' },
          { name: 'x_plan', value: 'a' },
        ],
      },
    },
  ])
  const forged = ['X_Tenant', 'x-plan', 'X_Forwarded_For', 'X_Forwarded-Host', 'Proxy_Authorization']
  const lines = [...forged, 'Content_Length', 'Transfer_Encoding', 'My_Own'].map((name) => `${name}: 7\r\n`)
  await answerTo(main, `POST / HTTP/1.1\r\nHost: a\r\n${lines.join('')}Content-Length: 1\r\n\r\nx`)

  const [seen] = target.seen
  const names = seen?.headers.map(([name]) => name.toLowerCase())
  assert.deepEqual(names?.sort(), ['connection', 'content-length', 'host', 'my_own', 'x-tenant', 'x_plan'])
  assert.equal(seen?.body, 'x')
})

test('T17 a # in the request target cannot lead outside of the target’s path', async (t) => {
  const target = await rawTarget(t, () => OK)
  const { main } = await proxied(t, `${target.origin}/base/mcp`)
  for (const path of ['/a#/../../x', '/#/../../x', '/a#/%2e%2e/%2e%2e/x']) {
    assert.match((await answerTo(main, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)).line, / 400 /, path)
  }
  assert.deepEqual(target.seen, [])
})

test('only a caller with Expect gets 100 Continue', async (t) => {
  const target = await rawTarget(t, () => `HTTP/1.1 100 Continue\r\n\r\n${OK}`)
  const { main } = await proxied(t, target.origin)
  assert.match(
    await sendRaw(main, 'HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'),
    /^HTTP\/1.1 200 /,
  )
  assert.match(await sendRaw(main, 'HEAD / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n'), /^HTTP\/1.1 200 /)
})

test('T13 the gateway does not wait for a body that it did not request, and closes the connection', async (t) => {
  const answer = 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n'
  const target = createServer((socket) => socket.once('data', () => socket.end(answer)))
  const { port } = await opened(t, target)
  const { main } = await proxied(t, `http://127.0.0.1:${port}`)
  const next = 'GET /next HTTP/1.1\r\nHost: a\r\n\r\n'
  for (const length of [next.length, 1_000_000]) {
    const head = `POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`
    assert.match(await sendRaw(main, head), /^HTTP\/1.1 401 [\s\S]*Connection: close/)
  }
})

test('T16 a target that responds before the body is complete keeps no connection of the gateway open', async (t) => {
  const closed: Promise<unknown>[] = []
  const origin = await listening(t, ({ socket }, response) => {
    closed.push(new Promise((resolve) => socket.on('close', resolve)))
    response.statusCode = 404
    response.end()
  })
  const { main } = await proxied(t, origin)
  for (const body of [
    'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n',
    'Content-Length: 1000000\r\n\r\nhello',
  ]) {
    const { line } = await answerTo(main, `POST / HTTP/1.1\r\nHost: a\r\n${body}`)
    assert.equal(line, 'HTTP/1.1 404 Not Found')
  }
  assert.equal(closed.length, 2)
  await Promise.all(closed)
})

test('T13 many headers hide neither the framing of a body nor added headers', async (t) => {
  const seen: unknown[] = []
  // Node drops headers after the 2000th.
  const origin = await listening(t, (request, response) => {
    void text(request).then((body) => {
      seen.push([request.url, body, request.headers.authorization])
      response.end()
    })
  })
  const { main } = await proxied(t, origin, {}, [
    { use: 'credential/static-bearer', with: { token: 'mine' } },
  ])
  const inner = 'GET /inner HTTP/1.1\r\nHost: a\r\n\r\n'
  const h2c = 'Connection: Upgrade\r\nUpgrade: h2c\r\n'
  const request = (headers: number, more: string): string =>
    `POST /outer HTTP/1.1\r\nHost: a\r\n${more}${'a: b\r\n'.repeat(headers)}Content-Length: ${inner.length}\r\n\r\n${inner}`

  for (const more of ['', h2c, HANDSHAKE, 'Expect: 100-continue\r\n']) {
    const answers = await sendRaw(main, request(2_100, more))
    assert.match(answers, /^HTTP\/1.1 431 [\s\S]*Connection: close/i)
    assert.equal(answers.split('HTTP/1.1 ').length, 2, answers)
  }
  assert.deepEqual(seen, [])
  assert.match((await answerTo(main, request(990, h2c))).line, / 200 /)
  assert.deepEqual(seen, [['/outer', inner, 'Bearer mine']])
})

test('a response without chunks may announce trailers without failing', async (t) => {
  for (const [request, line, head, body] of [
    ['GET / HTTP/1.1', '200 OK', 'Content-Length: 2', 'hi'],
    ['GET / HTTP/1.1', '304 Not Modified', 'ETag: "a"', ''],
    ['HEAD / HTTP/1.1', '200 OK', 'Transfer-Encoding: chunked', ''],
    // As nginx requests by default.
    ['GET / HTTP/1.0', '200 OK', 'Transfer-Encoding: chunked', '2\r\nhi\r\n0\r\nX-Sum: 1\r\n\r\n'],
  ]) {
    const target = await rawTarget(t, () => `HTTP/1.1 ${line}\r\n${head}\r\nTrailer: X-Sum\r\n\r\n${body}`)
    const { main } = await proxied(t, target.origin)
    const answer = await sendRaw(main, `${request}\r\nHost: a\r\nConnection: close\r\n\r\n`)
    assert.ok(answer.startsWith(`HTTP/1.1 ${line}\r\n`), answer)
    assert.doesNotMatch(answer, /trailer/i)
  }
})
