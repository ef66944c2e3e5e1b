import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { recordedLog, serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { mcpTarget } from '#kit/mcp-target.js'
import { listen } from '#kit/plugin.js'
import { startedProgram } from '#kit/started-program.js'
import { openRequest, proxied, send } from './proxied.js'

// Without its types: they import a package whose `source` condition this compiler cannot use.
const legacyClient: string = '@modelcontextprotocol/sdk/client/sse.js'
const { SSEClientTransport } = await import(legacyClient)

/** Connects as the official client of the older transport does, and calls a tool. */
async function sumBy(t: TestContext, url: string): Promise<unknown> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new SSEClientTransport(new URL(url)))
  t.after(() => client.close())
  const { content } = await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } })
  return content
}

const five = [{ type: 'text', text: '5' }]

test('a legacy SSE server works at every path that leads to it', async (t) => {
  const target = await mcpTarget(t, { era: '2024-11-05' })
  const { origin } = new URL(target.url)
  const { addresses } = await serving(t, [
    listen,
    { use: 'auth/anonymous' },
    { use: 'forward/http', with: { target: target.url } },
    { scope: '/notes', plugins: [{ use: 'forward/http', with: { target: target.url } }] },
    { scope: '/whole/server', plugins: [{ use: 'forward/http', with: { target: origin } }] },
  ])

  for (const path of ['/', '/sse', '/notes', '/notes/', '/notes/sse', '/whole/server/sse']) {
    assert.deepEqual(await sumBy(t, addresses.main + path), five, path)
  }
})

test('every worker accepts the endpoint that the target announced to another worker', async (t) => {
  const target = await mcpTarget(t, { era: '2024-11-05' })
  const gateway = startedProgram(t, ['proxy', 'name', '--target-uri', target.url, '--workers', '3'], {
    patience: 60,
  })
  const url = await gateway.ready()

  for (let client = 0; client < 4; client++) assert.deepEqual(await sumBy(t, new URL('/sse', url).href), five)
})

/** A target below `/api/sse` that announces this endpoint, and then responds with the request that it gets. */
async function announcing(t: TestContext, endpoint: string, headers: Record<string, string> = {}) {
  const target = await listening(t, (request, response) => {
    if (request.method !== 'GET') return response.end(`${request.method} ${request.url}`)
    const announced = endpoint.replace('ORIGIN', target)
    response.writeHead(200, { 'content-type': 'text/event-stream', ...headers })
    return response.end(`event: endpoint\ndata: ${announced}\n\n`)
  })
  const scope = '/notes'
  const { log, lines } = recordedLog()
  const { addresses } = await serving(
    t,
    [
      listen,
      { use: 'auth/anonymous' },
      { scope, plugins: [{ use: 'forward/http', with: { target: `${target}/api/sse` } }] },
    ],
    { log },
  )
  const main = addresses.main ?? ''
  const announcedAt = async (path: string, more: Record<string, string> = {}): Promise<string> =>
    /^data: (.*)$/m.exec((await send(main, { path, headers: more })).body)?.[1] ?? ''
  return { main, lines, announcedAt, target }
}

for (const [endpoint, reached] of [
  ['/message?sessionId=1', '/message?sessionId=1'],
  ['ORIGIN/message?sessionId=1', '/message?sessionId=1'],
  ['message?sessionId=1', '/api/message?sessionId=1'],
  ['?sessionId=1', '/api/sse?sessionId=1'],
  ['/api/sse?sessionId=1', '/api/sse?sessionId=1'],
  ['/api/sse/messages/?s=1#x', '/api/sse/messages/?s=1'],
  ['../up?a=%2e%2e%2f&b=é', '/up?a=%2e%2e%2f&b=%C3%A9'],
  ['/', '/'],
] as const) {
  test(`a client reaches an endpoint that is announced as ${endpoint}`, async (t) => {
    const { main, announcedAt } = await announcing(t, endpoint)

    for (const path of ['/notes', '/notes/', '/notes/api/sse']) {
      const { href, origin } = new URL(await announcedAt(path), main + path)
      assert.equal(origin, main)
      assert.equal(
        (await send(main, { method: 'POST', path: href.slice(main.length) })).body,
        `POST ${reached}`,
      )
    }
  })
}

test('a signed path reaches only the announced endpoint, and only by POST', async (t) => {
  const { main, announcedAt } = await announcing(t, '/message?sessionId=1')
  const path = await announcedAt('/notes')
  const bodyOf = async (asked: string, method = 'POST'): Promise<string> =>
    (await send(main, { method, path: asked })).body

  assert.equal(await bodyOf(path, 'OPTIONS'), 'OPTIONS /message?sessionId=1')
  for (const other of [
    path.replace('message', 'admin'),
    path.replace('sessionId=1', 'sessionId=2'),
    `${path}&x=1`,
    path.replace('/message', '/x/../message'),
    path.replace(/endpoint\/./, 'endpoint/!'),
    '/notes/.endpoint/',
    '/notes/.endpoint/AAAAAAAAAAAAAAAAAAAAAA/message?sessionId=1',
  ]) {
    assert.doesNotMatch(await bodyOf(other), /^POST \/(?!api\/sse\/\.endpoint\/)/, other)
  }
  assert.match(await bodyOf(path, 'DELETE'), /^DELETE \/api\/sse\/\.endpoint\//)
  assert.doesNotMatch(await bodyOf(path.slice('/notes'.length)), /^POST/)
})

test('an event that is no announcement to this client passes unchanged', async (t) => {
  const foreign = await announcing(t, 'http://127.0.0.1:1/message')
  assert.equal(await foreign.announcedAt('/notes'), 'http://127.0.0.1:1/message')
  assert.ok(foreign.lines.some(({ msg }) => String(msg).includes('an endpoint on another origin')))

  const { announcedAt } = await announcing(t, '/message')
  assert.equal(await announcedAt('/notes', { 'mcp-session-id': 'newer' }), '/message')
  const coded = await announcing(t, '/message', { 'content-encoding': 'identity' })
  assert.equal(await coded.announcedAt('/notes'), '/message')
})

test('the announcement of a server at the root passes byte for byte', async (t) => {
  const stream = '\ufeffevent:endpoint\r\ndata:message?id=1\r\n\r\n'
  const target = await listening(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(stream)
  })
  const { main } = await proxied(t, target)
  const response = await openRequest(main, { path: '/sse' })
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)

  assert.deepEqual(Buffer.concat(chunks), Buffer.from(stream))
})

test("a request below the target's own path keeps that path, and no request leads out of it", async (t) => {
  const target = await listening(t, (request, response) => response.end(request.url))
  const { main } = await proxied(t, `${target}/mcp`)
  const bodyOf = async (path: string): Promise<string> => (await send(main, { path })).body

  assert.equal(await bodyOf('/mcp/sub?x'), '/mcp/sub?x')
  assert.equal(await bodyOf('/mcp/'), '/mcp/')
  assert.equal(await bodyOf('/sub'), '/mcp/sub')
  assert.equal(await bodyOf('/mcpsub'), '/mcp/mcpsub')
  assert.equal(await bodyOf('/mcp/mcp'), '/mcp/mcp')
  assert.equal(await bodyOf('/mcp/a/../b'), '/mcp/a/../b')
  const outside = ['/../admin', '/%2e%2e/admin', '/a/..%2f..%2fadmin', '/./../admin', '//../admin']
  for (const path of outside.map((path) => `/mcp${path}`)) {
    assert.match(await bodyOf(path), /path_outside_target/, path)
  }
})
