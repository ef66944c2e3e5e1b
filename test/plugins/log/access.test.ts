import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Authenticator, type Entry, Refusal } from 'sallyport'
import { boot } from 'sallyport/embed'
import { contractSuite } from 'sallyport/testing'
import { contextFor, recordedLog, serving } from '#kit/booted.js'
import { capturedLog, eventually } from '#kit/captured-log.js'
import { corp } from '#kit/corp.js'
import { opened } from '#kit/listening.js'
import { plugin, providing } from '#kit/plugin.js'
import { dial, sendRaw } from '#kit/raw.js'

const callers = corp((token) => ({ subject: JSON.parse(`"${subjectIn(token)}"`) }))

const subjectIn = (token: string): string =>
  token === 'long' ? 'x'.repeat(10_000) : token === 'bad' ? String.raw`a\nb\u001b[31m` : token

const routes = plugin('routes', ({ http }) => {
  http.get('/small/:id', () => 'hello')
  http.get('/scoped', () => {
    throw new Refusal(403, 'INSUFFICIENT_SCOPE', 'no', {
      reasons: [{ provider: 'scopes', cause: 'scope' }],
    })
  })
  http.get('/failing', () => {
    throw new Error('no')
  })
  http.get('/stream', (_request, reply) => {
    reply.hijack()
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' })
    reply.raw.write('data: ä\n\n')
  })
  http.get('/silent', (_request, reply) => void reply.hijack())
})

async function logged(
  t: TestContext,
  requests: string | undefined,
  more: readonly Entry[] = [callers, routes],
) {
  const { log, lines } = recordedLog()
  const list = [
    { use: 'listen/http', with: { address: '127.0.0.1:0', trustedProxies: ['127.0.0.1'] } },
    { use: 'internal/server', with: { address: '127.0.0.1:0' } },
    ...(requests === undefined ? [] : [{ use: 'log/access', with: { requests } }]),
    ...more,
  ]
  const running = await serving(t, list, { log })
  const { main = '', internal = '' } = running.addresses
  const ask = (target: string, headers: readonly string[] = ['Authorization: Bearer anna'], method = 'GET') =>
    sendRaw(
      main,
      [`${method} ${target} HTTP/1.1`, 'Host: a', 'Connection: close', ...headers, '', ''].join('\r\n'),
    )
  const access = () => lines.filter(({ durationMs }) => durationMs !== undefined)
  return { main, internal, running, lines, ask, access }
}

test('all: a line has the route, the caller and the size of the response, and nothing else of the request', async (t) => {
  const { ask, access, lines } = await logged(t, 'all')
  const mcp = ['Mcp-Method: tools/call', 'Mcp-Name: search']
  await ask('/small/7?token=secret', [
    'Authorization: Bearer anna',
    'MCP-Protocol-Version: 2026-07-28',
    'X-Forwarded-For: 203.0.113.9',
    ...mcp,
  ])
  await ask('/small/7', ['Authorization: Bearer anna', 'MCP-Protocol-Version: 2025-11-25', ...mcp])
  await ask('/small/7', ['Authorization: Bearer anna'], 'HEAD')

  const [first, older, head] = access()
  const { durationMs, requestId, time: _, ...rest } = first ?? {}
  assert.deepEqual(rest, {
    level: 'info',
    plugin: 'log/access',
    route: '/small/:id',
    status: 200,
    bytes: 5,
    subject: 'anna',
    provider: 'corp',
    mcpMethod: 'tools/call',
    mcpName: 'search',
    address: '203.0.113.9',
    msg: 'request',
  })
  assert.equal(typeof durationMs, 'number')
  assert.match(String(requestId), /^[a-z\d]+-/)
  assert.equal(older?.['mcpName'], undefined)
  assert.equal(older?.['address'], '127.0.0.1')
  assert.equal(head?.['bytes'], 0)
  assert.doesNotMatch(JSON.stringify(lines), /secret|small\/7/)
})

test('errors: a request that succeeds has no line, one that fails has one, and a refused one has only its line `refused`', async (t) => {
  const { ask, access, lines } = await logged(t, 'errors')
  await ask('/small/7')
  assert.deepEqual(access(), [])

  await ask('/nowhere')
  await ask('/failing')
  await ask('/small/7', ['X-Forwarded-For: 203.0.113.9'])
  const seen = access().map(({ msg, route, status, address, bytes, refused }) => [
    msg,
    route,
    status,
    address,
    Number(bytes) > 0,
    refused,
  ])
  assert.deepEqual(seen, [
    ['request', 'unknown', 404, '127.0.0.1', true, undefined],
    ['request', '/failing', 500, '127.0.0.1', true, undefined],
    ['refused', '/small/:id', 401, '203.0.113.9', true, 'UNAUTHORIZED'],
  ])
  assert.equal(lines.filter(({ status }) => status === 401).length, 1)
})

test('off: the line of a refusal names the caller and the call', async (t) => {
  const { ask, access } = await logged(t, undefined)
  const mcp = ['MCP-Protocol-Version: 2026-07-28', 'Mcp-Method: tools/call', 'Mcp-Name: search']
  await ask('/scoped', ['Authorization: Bearer long', ...mcp])
  const [{ subject, provider, mcpMethod, mcpName, cause, msg } = {}] = access()
  assert.deepEqual(
    [provider, mcpMethod, mcpName, cause, msg],
    ['corp', 'tools/call', 'search', 'scope', 'refused'],
  )
  assert.equal(String(subject).length, 256)
})

for (const requests of [undefined, 'errors', 'all']) {
  test(`accessLog ${requests ?? 'off'}: callers without a token cannot fill a disk`, async (t) => {
    const { ask, lines } = await logged(t, requests)
    await ask('/small/7', [])
    const before = lines.length
    for (let index = 0; index < 60; index++) await ask(`/${'x'.repeat(index)}`, [])
    for (let index = 0; index < 60; index++) await ask('/nowhere', [`Authorization: Bearer a${index}`])
    const most = requests === undefined ? 10 : 20
    assert.equal(lines.length - before, most)
  })
}

test('a request counts its own bytes, on a reused connection and beside other requests', async (t) => {
  const { main, access } = await logged(t, 'all')
  const one = 'GET /small/7 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer anna\r\n'
  await sendRaw(main, `${one}\r\n${one}\r\n${one}Connection: close\r\n\r\n`)
  assert.deepEqual(
    access().map(({ bytes }) => bytes),
    [5, 5, 5],
  )
})

test('an event stream has its line at its end, the line of a client that disconnects says so, and an upgrade has 101', async (t) => {
  const { main, access } = await logged(t, 'all')
  const socket = dial(main)
  socket.write('GET /stream HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer anna\r\n\r\n')
  await once(socket, 'data')
  assert.deepEqual(access(), [])
  socket.destroy()
  const [stream] = await eventually(() => access().length === 1 && access())
  const { status, bytes, aborted, address } = stream ?? {}
  assert.deepEqual([status, bytes, aborted, address], [200, 10, true, '127.0.0.1'])

  const leaving = dial(main)
  leaving.write('GET /silent HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer anna\r\n\r\n')
  await once(leaving, 'connect')
  leaving.end()
  const [, left] = await eventually(() => access().length === 2 && access())
  assert.deepEqual([left?.['status'], left?.['bytes'], left?.['aborted']], [499, 0, true])
})

test('the forwarder: the log counts bodies of any kind, and a WebSocket when it has ended', async (t) => {
  const target = createServer((request, response) => {
    request.resume()
    if (request.url === '/large') response.end('x'.repeat(200_000))
    else response.end('small')
  })
  target.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    socket.on('data', (chunk) => socket.end(chunk))
    socket.on('error', () => {})
  })
  const { port } = await opened(t, target)
  const forwarding = { use: 'forward/http', with: { target: `http://127.0.0.1:${port}` } }
  const { main, ask, access } = await logged(t, 'all', [{ use: 'auth/anonymous' }, forwarding])
  await ask('/large')
  await ask('/small')
  await ask('/small', ['Content-Length: 2', '', 'hi'], 'POST')

  const { hostname, port: own } = new URL(main)
  const socket = connect(Number(own), hostname)
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  await once(socket, 'data')
  socket.write('frame')
  await once(socket, 'data')
  assert.equal(access().length, 3)
  socket.end()
  await eventually(() => access().length === 4)
  const [large, small, post, upgraded] = access()
  assert.deepEqual([large?.['bytes'], small?.['bytes'], post?.['bytes']], [200_000, 5, 5])
  assert.deepEqual([upgraded?.['status'], upgraded?.['aborted'], upgraded?.['route']], [101, undefined, '/*'])
  assert.ok(Number(upgraded?.['bytes']) >= 5)
})

test('a client can neither lengthen a line nor split it', async (t) => {
  const { ask, access } = await logged(t, 'all')
  const version = 'MCP-Protocol-Version: 2026-07-28'
  await ask('/small/7', [
    'Authorization: Bearer long',
    version,
    `Mcp-Method: ${'m'.repeat(5000)}`,
    'Mcp-Name: a\tb',
  ])
  await ask('/small/7', [
    'Authorization: Bearer bad',
    version,
    'Mcp-Name: \u00e4\u009b31m',
    'Mcp-Method: Bearer abcdef.ghi',
  ])
  const [long, bad] = access()
  assert.equal(String(long?.['subject']).length, 256)
  assert.equal(String(long?.['mcpMethod']).length, 128)
  assert.equal(long?.['mcpName'], undefined)
  assert.equal(bad?.['subject'], 'a\nb\u001b[31m')
  assert.equal(bad?.['mcpName'], undefined)
  assert.equal(bad?.['mcpMethod'], 'Bearer ***')
})

test('in the log for people too, a claim with line breaks and escapes is one line', async () => {
  const { log, lines } = capturedLog({ pretty: true, level: 'info' })
  const subject = 'anna\n[10:00:00.000] INFO: request\u001b[2J\u009b31m\r\u202e'
  const app = await boot(
    [
      { use: 'log/access', with: { requests: 'all' } },
      providing('caller', Authenticator, {
        provider: 'corp',
        authenticate: () => ({ identity: { provider: 'corp', subject, claims: {} } }),
      }),
      routes,
    ],
    contextFor({ log }),
  )
  await app.app.inject('/small/7')
  await app.stop()
  const text = lines.find((line) => line.includes('anna')) ?? ''
  assert.equal(text.split('\n').filter((line) => /INFO/.test(line)).length, 2, text)
  assert.equal(
    text.split('\n').some((line) => line.startsWith('[10:00')),
    false,
  )
  for (const control of ['\u001b[2J', '\u009b', '\r', '\u202e']) assert.equal(text.includes(control), false)
})

test('the internal port has no lines', async (t) => {
  const { internal, access } = await logged(t, 'all')
  for (const path of ['/health', '/readiness', '/nowhere'])
    await fetch(internal + path).then((response) => response.text())
  assert.deepEqual(access(), [])
})

contractSuite('log/access', () => ({ list: [{ use: 'log/access', with: { requests: 'all' } }] }))
