import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type AuditEvent, AuditSink, type Entry, UpstreamError } from 'sallyport'
import { jsonRpcErrors, type Passage } from 'sallyport/toolkit'
import { booted, serving } from '#kit/booted.js'
import { listen, mcpPlugin, plugin, providing } from '#kit/plugin.js'
import { policy } from '../../plugins/forward/hiding.js'

type Answer = (reply: FastifyReply, passage: Passage, request: FastifyRequest) => unknown

/** A third-party plugin that answers calls like this. */
const forwarder = (answer: Answer): Entry =>
  mcpPlugin('theirs', ({ http }, passage) => {
    const config = { mcp: true, errors: jsonRpcErrors }
    http.post('/mcp', { config }, async (request, reply) => {
      await answer(reply, passage, request)
      return reply
    })
  })

const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'a' }, { name: 'x' }] } })
const JSON_TYPE = [['content-type', 'application/json']] as const
const send =
  (body: Readable, headers: Iterable<readonly [string, string]> = JSON_TYPE): Answer =>
  (reply, passage) =>
    passage.send(reply, { status: 200, headers, body })

async function asked(t: TestContext, answer: Answer, watching: readonly Entry[] = [policy()]) {
  const list = [listen, { use: 'auth/anonymous' }, ...watching, forwarder(answer)]
  const { addresses } = await serving(t, list)
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  return (signal?: AbortSignal) =>
    fetch(`${addresses.main}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      ...(signal && { signal }),
    })
}

/** Ways to answer without the passage. */
const AROUND: Readonly<Record<string, Answer>> = {
  'reply.send': (reply) => reply.type('application/json').header('x-plugin', 'x').send(LIST),
  'a stream': (reply) => reply.type('application/json').send(Readable.from([LIST])),
  'reply.raw': ({ raw }) => raw.setHeader('x-plugin', 'x').end(LIST),
  'a hijacked reply': (reply) => {
    reply.hijack()
    reply.raw.writeHead(200, { 'content-type': 'application/json', 'x-plugin': 'x' })
    reply.raw.write(LIST)
    reply.raw.end('more')
  },
}

for (const [way, answer] of Object.entries(AROUND)) {
  test(`a response by ${way} that has not taken the passage sends no byte`, async (t) => {
    const events: AuditEvent[] = []
    const audit = providing('audit', AuditSink, (event) => void events.push(event))
    for (const watching of [[policy()], [audit]]) {
      const response = await (await asked(t, answer, watching))()
      const body = await response.text()
      assert.equal(response.status, 503)
      assert.equal(response.headers.get('x-plugin'), null)
      assert.deepEqual([JSON.parse(body).id, JSON.parse(body).error.data.error], [1, 'plugin_failed'])
    }
    while (events.length === 0) await new Promise(setImmediate)
    assert.deepEqual(
      events.map(({ outcome, causes }) => [outcome, causes]),
      [['failed', ['plugin_failed']]],
    )
    assert.equal(
      await (await (await asked(t, answer, []))()).text(),
      way === 'a hijacked reply' ? `${LIST}more` : LIST,
    )
  })
}

test('a plugin with a route to an MCP server that opens no passage does not start', async (t) => {
  const careless = plugin(
    'careless',
    ({ http }) => void http.post('/mcp', { config: { mcp: true } }, () => 'x'),
  )
  await assert.rejects(
    booted(t, [{ use: 'auth/anonymous' }, careless]),
    /POST \/mcp has `mcp: true`.*openPassage/,
  )
})

test('items that a policy hides are cut out of a list, also if the length was announced', async (t) => {
  const headers = [...JSON_TYPE, ['content-length', String(LIST.length)] as const]
  const response = await (await asked(t, send(Readable.from([Buffer.from(LIST)]), headers)))()
  const body = await response.text()
  assert.deepEqual(JSON.parse(body).result.tools, [{ name: 'a' }])
  assert.equal(response.headers.get('content-length'), String(body.length))
})

test('a body that fails before its first byte is an error reply, and later the connection ends', async (t) => {
  const early = new Readable({ read: () => void early.destroy(new UpstreamError('TARGET_RESET', 'gone')) })
  assert.equal((await (await asked(t, send(early)))()).status, 502)

  const late = new PassThrough()
  late.write('data: 1\n\n')
  const response = await (await asked(t, send(late, [['content-type', 'text/event-stream']])))()
  assert.equal(response.status, 200)
  late.destroy(new Error('broken'))
  await assert.rejects(response.text())
})

test('if the client has left before its response begins, the body ends at once', async (t) => {
  const body = new PassThrough()
  const leaving = new AbortController()
  const ask = await asked(t, async (reply, passage) => {
    const left = once(reply.raw, 'close')
    leaving.abort()
    await left
    await passage.send(reply, { status: 200, headers: JSON_TYPE, body })
  })
  const closed = once(body, 'close')
  await assert.rejects(ask(leaving.signal))
  await closed
})

test('a client that leaves ends the body of its response', async (t) => {
  const body = new PassThrough()
  const leaving = new AbortController()
  const ask = await asked(t, send(body, [['content-type', 'text/event-stream']]))
  body.write('data: 1\n\n')
  const response = await ask(leaving.signal)
  const closed = once(body, 'close')
  leaving.abort()
  await closed
  await assert.rejects(response.text())
})
