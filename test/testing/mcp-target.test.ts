import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { eventually, type McpTarget, mcpTarget, serving } from 'sallyport/testing'
import { listen } from '#kit/plugin.js'

// A variable, so that the compiler does not load the types: they do not compile with our options.
const OLD: string = '@modelcontextprotocol/sdk/client/sse.js'

async function clientOf(t: TestContext, url: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  const Transport: typeof StreamableHTTPClientTransport = url.endsWith('/sse')
    ? (await import(OLD)).SSEClientTransport
    : StreamableHTTPClientTransport
  // The SDK's class does not fit its own interface under exactOptionalPropertyTypes.
  await client.connect(new Transport(new URL(url)) as never)
  t.after(() => client.close())
  return client
}

/** What the official client receives from a target. */
async function conversation(client: Client, target: McpTarget): Promise<void> {
  const { tools } = await client.listTools()
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['add', 'count', 'headers', 'fail'],
  )
  assert.deepEqual((await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } })).content, [
    { type: 'text', text: '5' },
  ])
  const progress: number[] = []
  const call = { name: 'count', arguments: { to: 3 } }
  await client.callTool(call, undefined, { onprogress: (each) => progress.push(each.progress) })
  // Over one stream the client resolves the answer before it reports the progress that came with it.
  if (target.url.endsWith('/mcp')) assert.deepEqual(progress, [1, 2, 3])
  assert.equal((await client.callTool({ name: 'fail' })).isError, true)

  let changed = 0
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void changed++)
  await eventually(async () => {
    await target.announce()
    return changed > 0 ? true : undefined
  })
}

for (const era of ['2025-11-25', '2024-11-05'] as const) {
  test(`the official client uses a target of ${era}, directly and through a gateway`, async (t) => {
    const target = await mcpTarget(t, { era })
    await conversation(await clientOf(t, target.url), target)
    assert.equal(target.sessions, 1)
    if (era === '2024-11-05') return
    const { addresses } = await serving(t, [
      listen,
      { use: 'auth/anonymous' },
      { use: 'credential/static-bearer', with: { token: 'mine' } },
      { use: 'forward/http', with: { target: target.url } },
    ])
    const client = await clientOf(t, `${addresses.main}/mcp`)
    await conversation(client, target)
    assert.match(JSON.stringify((await client.callTool({ name: 'headers' })).content), /Bearer mine/)
  })
}

test('a target refuses a session that it forgot, and a test can intercept every request', async (t) => {
  const target = await mcpTarget(t)
  const client = await clientOf(t, target.url)
  await target.forget()
  await assert.rejects(client.listTools(), /no such session/)
  assert.equal(target.sessions, 0)
  assert.match(target.asked.at(-1)?.body ?? '', /tools\/list/)

  target.intercept = (_request, response, body) => {
    response.writeHead(429, { 'retry-after': '7' }).end()
    return body.includes('initialize')
  }
  await assert.rejects(clientOf(t, target.url), { code: 429 })
})

test('a target of 2026-07-28 answers single requests, reports progress, and has no sessions', async (t) => {
  const target = await mcpTarget(t, { era: '2026-07-28' })
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const call = async (name: string, given: object, more: object = {}) => {
    const params = { name, arguments: given, _meta: { ...meta, ...more } }
    const response = await fetch(target.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': name,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    })
    assert.equal(response.headers.get('mcp-session-id'), null)
    return response.text()
  }
  assert.match(await call('add', { a: 20, b: 22 }), /"text":"42"/)
  assert.match(await call('headers', {}), /mcp-method/)
  assert.match(await call('count', { to: 2 }, { progressToken: 'p' }), /notifications\/progress/)
  assert.equal(target.sessions, 0)
  const old = await fetch(target.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}',
  })
  assert.ok(old.status >= 400, `${old.status}`)
})
