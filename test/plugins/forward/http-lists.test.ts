import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { Credential, type Policy } from 'sallyport'
import { serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { listen, providing } from '#kit/plugin.js'
import { policy } from './hiding.js'
import { call, openRequest, proxied, send } from './proxied.js'

const LIST = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}, {"name":"x"}]}}'
const LEFT = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}]}}'
const SSE = 'text/event-stream'

/** A target with this response, and the headers of its requests. */
async function answering(t: TestContext, answer: (response: ServerResponse, path: string) => unknown) {
  const seen: IncomingHttpHeaders[] = []
  const origin = await listening(t, (request, response) => {
    seen.push(request.headers)
    request.resume()
    answer(response, request.url ?? '')
  })
  return { origin, seen }
}

const withPolicy = async (t: TestContext, target: string, shows?: Policy['shows']): Promise<string> =>
  (await proxied(t, target, {}, [policy(shows)])).main

test('a list lacks the items that the policy hides, in any form of request and response', async (t) => {
  const { origin } = await answering(t, (response, path) => {
    const type = decodeURIComponent(path.slice(1))
    if (type !== '') response.setHeader('content-type', type)
    response.end(type.startsWith(SSE) ? `id: 1\ndata: ${LIST}\n\n` : LIST)
  })
  const main = await withPolicy(t, origin)
  const types = ['', 'application/json', 'application/problem+json', 'text/plain', 'text/html', 'image/png']

  for (const asked of [call(1), { method: 'GET' }, { headers: { 'last-event-id': '1' } }]) {
    for (const type of types) {
      const path = `/${encodeURIComponent(type)}`
      assert.equal((await send(main, { ...asked, path })).body, LEFT, type)
    }
    for (const type of [SSE, 'Text/Event-Stream; charset=utf-8']) {
      const path = `/${encodeURIComponent(type.toLowerCase())}`
      assert.equal((await send(main, { ...asked, path })).body, `id: 1\ndata: ${LEFT}\n\n`, type)
    }
  }
})

test('headers that describe the bytes are dropped when the bytes change, and stay otherwise', async (t) => {
  const about = { etag: '"1"', 'last-modified': 'x', digest: 'x', 'repr-digest': 'x', 'content-digest': 'x' }
  const more = { 'content-md5': 'x', 'accept-ranges': 'bytes', 'x-other': 'stays' }
  const { origin } = await answering(t, (response, path) => {
    const body = path === '/whole' ? LEFT : path === '/sse' ? `data: ${LIST}\n\n` : LIST
    const type = path === '/sse' && { 'content-type': SSE }
    response.writeHead(200, { ...about, ...more, ...type, 'content-length': body.length }).end(body)
  })
  const main = await withPolicy(t, origin)
  const lists = ['/cut', '/sse', '/whole'] as const
  const [cut, sse, whole] = await Promise.all(lists.map((path) => send(main, { ...call(1), path })))

  for (const name of [...Object.keys(about), 'content-md5', 'accept-ranges']) {
    assert.equal(cut?.headers[name], undefined, name)
    assert.equal(sse?.headers[name], undefined, name)
    assert.notEqual(whole?.headers[name], undefined, name)
  }
  assert.equal(cut?.headers['x-other'], 'stays')
  assert.equal(cut?.headers['content-length'], `${LEFT.length}`)
  assert.equal(whole?.headers['content-length'], `${LEFT.length}`)
  assert.equal(sse?.body, `data: ${LEFT}\n\n`)
})

const CHOOSY = {
  'Accept-Encoding': 'gzip',
  Range: 'bytes=0-1',
  'If-Range': '"1"',
  'If-None-Match': '"1"',
  'If-Modified-Since': 'Thu, 01 Jan 2026 00:00:00 GMT',
  If_None_Match: '"1"',
}

test('with policies the target is asked for a whole response in no coding, without them the request stays', async (t) => {
  const { origin, seen } = await answering(t, (response) => response.end(LIST))
  const main = await withPolicy(t, origin)
  const { main: open } = await proxied(t, origin)

  assert.equal((await send(main, { headers: CHOOSY })).body, LEFT)
  assert.equal((await send(open, { headers: CHOOSY })).body, LIST)
  const [filtered, transparent] = seen
  for (const name of Object.keys(CHOOSY).map((each) => each.toLowerCase())) {
    assert.equal(filtered?.[name], name === 'accept-encoding' ? 'identity' : undefined, name)
    assert.notEqual(transparent?.[name], undefined, name)
  }
})

test('a response that is no JSON passes as it streams, also when its beginning comes late', async (t) => {
  const opened: ServerResponse[] = []
  const { origin } = await answering(t, (response) => {
    opened.push(response)
    response.writeHead(200, { 'content-type': 'text/html' }).flushHeaders()
    response.write(' \n')
  })
  const main = await withPolicy(t, origin)
  const asking = openRequest(main)
  while (opened.length === 0) await new Promise(setImmediate)
  opened[0]?.write('<p>')

  const response = await asking
  assert.equal(String((await once(response, 'data'))[0]), ' \n<p>')
  opened[0]?.write('{')
  assert.equal(String((await once(response, 'data'))[0]), '{')
  opened[0]?.end()
})

test('a response without a body, a failure, and the result of a tool pass unchanged', async (t) => {
  const result = `{"result": {"content":[{"text":"é"}],"structuredContent":${LIST} } }`
  const { origin } = await answering(t, (response, path) => {
    if (path === '/202') response.writeHead(202).end()
    else if (path === '/204') response.writeHead(204).end()
    else if (path === '/500')
      response.writeHead(500, { etag: '"1"', 'content-length': 11 }).end('{"error":1}')
    else response.writeHead(200, { 'content-length': Buffer.byteLength(result) }).end(result)
  })
  const main = await withPolicy(t, origin)
  const view = async (path: string, method = 'POST') => {
    const { status, body, headers } = await send(
      main,
      method === 'POST' ? { ...call(1), path } : { method, path },
    )
    return [status, body, headers['content-length'], headers.etag]
  }

  assert.deepEqual(await view('/202'), [202, '', undefined, undefined])
  assert.deepEqual(await view('/204'), [204, '', undefined, undefined])
  assert.deepEqual(await view('/500'), [500, '{"error":1}', '11', '"1"'])
  assert.deepEqual(await view('/call'), [200, result, `${Buffer.byteLength(result)}`, undefined])
  assert.deepEqual(await view('/call', 'HEAD'), [200, '', `${Buffer.byteLength(result)}`, undefined])
})

test('a public cacheScope becomes private from 2026-07-28 on, also of a resource as JSON', async (t) => {
  const result = (scope: string): string => `{"id":1,"result":{"contents":[],"cacheScope":"${scope}"}}`
  const { origin } = await answering(t, (response) => {
    response.setHeader('content-type', 'application/json').end(result('public'))
  })
  const main = await withPolicy(t, origin)
  const { main: open } = await proxied(t, origin)
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: 'a' } })
  const read = async (url: string, version: string) => {
    const named = version > '2026' && { 'mcp-method': 'resources/read', 'mcp-name': 'a' }
    const headers = { 'content-type': 'application/json', 'mcp-protocol-version': version, ...named }
    return (await send(url, { method: 'POST', headers, body })).body
  }

  assert.equal(await read(main, '2026-07-28'), result('private'))
  assert.equal(await read(main, '2025-11-25'), result('public'))
  assert.equal(await read(open, '2026-07-28'), result('public'))
})

test('the policy judges the caller of a request, also after a renewal and a redirect', async (t) => {
  const callers = new Set<string | undefined>()
  const shows: Policy['shows'] = async ({ identity, request }, listed) => {
    callers.add(`${identity?.provider} ${request.method}`)
    return listed.map(({ name }) => name === 'a')
  }
  let version = 1
  const renewed = providing('renewed', Credential, {
    name: 'renewed',
    present: () => ({ header: 'authorization', value: `v${version}`, accessToken: 'x' }),
    renew: async () => ++version === 2,
  })
  const origin = await listening(t, (request, response) => {
    request.resume()
    if (request.headers.authorization === 'v1') response.writeHead(401).end(LIST)
    else if (request.url === '/') response.writeHead(307, { location: '/there' }).end(LIST)
    else response.end(LIST)
  })
  const { main } = await proxied(t, origin, {}, [renewed, policy(shows)])

  assert.equal((await send(main, call(1))).body, LEFT)
  assert.deepEqual([...callers], ['anonymous POST'])
})

test('lists from replicas are filtered too', async (t) => {
  const { origin, seen } = await answering(t, (response, path) => {
    if (path === '/sse') response.writeHead(200, { 'content-type': SSE }).end(`data: ${LIST}\n\n`)
    else response.end(LIST)
  })
  const list = [
    listen,
    { use: 'auth/anonymous' },
    policy(),
    { use: 'forward/balanced', with: { targets: [origin] } },
  ]
  const main = (await serving(t, list)).addresses.main ?? ''

  assert.equal((await send(main, { ...call(1), path: '/sse' })).body, `data: ${LEFT}\n\n`)
  assert.equal((await send(main, { path: '/', headers: CHOOSY })).body, LEFT)
  assert.equal(seen[1]?.['accept-encoding'], 'identity')
})

for (const enableJsonResponse of [true, false]) {
  test(`the official client gets filtered pages of the official server, JSON: ${enableJsonResponse}`, async (t) => {
    const origin = await listening(t, (request, response) => {
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: undefined,
        enableJsonResponse,
      })
      // The SDK's class does not fit its own interface under exactOptionalPropertyTypes.
      void pagedServer()
        .connect(transport as never)
        .then(() => transport.handleRequest(request, response))
    })
    const main = await withPolicy(t, origin)
    const client = new Client({ name: 'test', version: '1' })
    t.after(() => client.close())
    await client.connect(new StreamableHTTPClientTransport(new URL(main)) as never)

    const first = await client.listTools()
    const second = await client.listTools({ cursor: first.nextCursor })
    assert.deepEqual(
      first.tools.map(({ name }) => name),
      ['a1', 'a2'],
    )
    assert.deepEqual(second.tools, [])
    assert.equal(second.nextCursor, undefined)
    const { content } = await client.callTool({ name: 'a1' })
    assert.deepEqual(content, [{ type: 'text', text: LIST }])
  })
}

function pagedServer(): Server {
  const server = new Server({ name: 'paged', version: '1' }, { capabilities: { tools: {} } })
  const tools = (...names: string[]) => names.map((name) => ({ name, inputSchema: { type: 'object' } }))
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) =>
    params?.cursor === 'next'
      ? { tools: tools('x4', 'x5') }
      : { tools: tools('a1', 'x1', 'a2', 'x3'), nextCursor: 'next' },
  )
  server.setRequestHandler(CallToolRequestSchema, () => ({ content: [{ type: 'text', text: LIST }] }))
  return server
}
