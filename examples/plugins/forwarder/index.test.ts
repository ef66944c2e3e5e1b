import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { type AuditEvent, AuditSink, definePlugin, Policy } from 'sallyport'
import { booted, listening, serving } from 'sallyport/testing'
import plugin from './index.js'

const events: AuditEvent[] = []

/** A policy that hides the tool `secret`, and an audit sink. */
const watching = definePlugin({
  name: 'watching',
  api: 1,
  provides: [Policy, AuditSink],
  setup(gateway) {
    gateway.provide(AuditSink, (event) => void events.push(event))
    gateway.provide(Policy, {
      judge: () => ({ allowed: true }),
      shows: (_caller, listed) => listed.map(({ name }) => name !== 'secret'),
    })
  },
})

const TOOLS = { tools: [{ name: 'add' }, { name: 'secret' }] }

/** A gateway with this forwarder in front of a server, which answers as JSON, or as an event. */
async function gateway(t: TestContext, type: string) {
  const seen: string[] = []
  const target = await listening(t, (request, response) => {
    seen.push(...Object.keys(request.headers))
    void text(request).then((body) => {
      const { id, method } = JSON.parse(body)
      const result = method === 'tools/list' ? TOOLS : { isError: true, content: [] }
      const answer = JSON.stringify({ jsonrpc: '2.0', id, result })
      const sent = type === 'text/event-stream' ? `data: ${answer}\n\n` : answer
      response.writeHead(200, { 'content-type': type }).end(sent)
    })
  })
  const { addresses } = await serving(t, [
    { use: 'listen/http', with: { address: '127.0.0.1:0' } },
    { use: 'auth/anonymous' },
    { use: watching },
    { use: plugin, with: { target } },
  ])
  const post = async (method: string, params = {}): Promise<string> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const headers = { 'content-type': 'application/json', cookie: 'a=b' }
    return (await fetch(addresses.main ?? '', { method: 'POST', headers, body })).text()
  }
  return { post, seen }
}

for (const type of ['application/json', 'text/event-stream']) {
  test(`the forwarder removes a hidden tool from lists, and audits a failure: ${type}`, async (t) => {
    const { post, seen } = await gateway(t, type)
    events.length = 0
    const listed = await post('tools/list')
    assert.ok(listed.includes('"add"') && !listed.includes('secret'), listed)
    assert.ok((await post('tools/call', { name: 'add' })).includes('isError'))
    while (events.length < 2) await new Promise(setImmediate)
    assert.deepEqual(
      events.map(({ mcp, outcome }) => [mcp?.method, outcome]),
      [
        ['tools/list', 'allowed'],
        ['tools/call', 'failed'],
      ],
    )
    assert.ok(!seen.includes('cookie'))
  })
}

test('an unreachable server is a 502', async (t) => {
  const app = await booted(t, [
    { use: 'auth/anonymous' },
    { use: plugin, with: { target: 'http://127.0.0.1:9' } },
  ])
  const payload = { jsonrpc: '2.0', id: 7, method: 'ping' }
  const { statusCode, body } = await app.inject({ method: 'POST', url: '/', payload })
  assert.deepEqual([statusCode, JSON.parse(body).id], [502, 7])
})
