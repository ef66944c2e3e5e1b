import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { FastifyRequest } from 'fastify'
import { type Entry, type Identity, UpstreamError } from 'sallyport'
import { observationOf } from 'sallyport/toolkit'
import { booted, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { listen, mcpPlugin, plugin } from '#kit/plugin.js'
import { dial } from '#kit/raw.js'
import { policy } from '../gate/judged.js'
import { asAnn, known, observing, taking } from './observing.js'

const toolCall = (id: unknown, name = 'add', args: unknown = { a: 'SECRET-ARGUMENT' }) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
})

/** A list with an audit sink; `post` sends a body and returns the events that it made. */
async function audited(t: TestContext, more: readonly Entry[] = [], identity: Partial<Identity> = {}) {
  const { observed, entry } = observing('audit')
  const app = await booted(t, [entry, known(identity), ...more, taking])
  const post = async (body: unknown, headers: Readonly<Record<string, string>> = {}) => {
    observed.events.length = 0
    const payload = typeof body === 'string' ? body : JSON.stringify(body)
    await app.inject({ method: 'POST', url: '/mcp?SECRET-QUERY', headers: { ...asAnn, ...headers }, payload })
    return [...observed.events]
  }
  return { app, events: observed.events, post }
}

test('a call has one event when it has ended, with its method, its subject and its caller', async (t) => {
  const claims = { act: { sub: 'agent', act: { sub: 'robot' } } }
  const { post } = await audited(t, [], { claims, scopes: ['tools:read'] })
  const [event, ...others] = await post(toolCall(1), { 'mcp-protocol-version': '2025-11-25' })

  assert.deepEqual(others, [])
  const { at, durationMs, requestId, ...rest } = event ?? {}
  assert.ok(Date.parse(at ?? '') > 0)
  assert.ok(Number(durationMs) > 0)
  assert.ok(requestId)
  assert.deepEqual(rest, {
    kind: 'called',
    provider: 'corp',
    subject: 'ann',
    actors: ['agent', 'robot'],
    scopes: ['tools:read'],
    address: '127.0.0.1',
    method: 'POST',
    route: '/mcp',
    status: 202,
    outcome: 'allowed',
    mcp: { method: 'tools/call', kind: 'tool', name: 'add', protocolVersion: '2025-11-25' },
  })
})

test('the event of an unknown path has the cause not_found', async (t) => {
  const { app, events } = await audited(t)
  await app.inject({ url: '/nowhere', headers: asAnn })

  assert.deepEqual(
    events.map(({ status, outcome, causes }) => [status, outcome, causes]),
    [[404, 'failed', ['not_found']]],
  )
})

test('each call of a batch has an event, and an answer to the server has none', async (t) => {
  const { post } = await audited(t)
  const events = await post([
    toolCall(1),
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 9, result: {} },
    {
      jsonrpc: '2.0',
      id: 2,
      method: 'resources/read',
      params: { uri: 'https://ann:SECRET@a.example/b?SECRET#c' },
    },
  ])
  assert.deepEqual(
    events.map(({ kind, mcp }) => [kind, mcp]),
    [
      ['called', { method: 'tools/call', kind: 'tool', name: 'add' }],
      ['called', { method: 'notifications/initialized' }],
      ['called', { method: 'resources/read', kind: 'resource', name: 'https://a.example/b' }],
    ],
  )
  const answers = await post({ jsonrpc: '2.0', id: 9, result: {} })
  assert.deepEqual(
    answers.map(({ kind, mcp }) => [kind, mcp]),
    [['accepted', undefined]],
  )
})

test('an allowed request without an identity has no event', async (t) => {
  const open = plugin('open', ({ http }) => http.get('/open', { config: { public: true } }, () => 'open'))
  const { app, events } = await audited(t, [open])
  assert.equal((await app.inject('/open')).statusCode, 200)
  await app.inject({ url: '/plain', headers: asAnn })
  assert.deepEqual(
    events.map(({ kind, route }) => [kind, route]),
    [['accepted', '/plain']],
  )
})

test('the event of a refusal is denied, with the rule, and with the call if it was read', async (t) => {
  const deny = policy(({ subject }) =>
    subject?.name === 'drop' ? { allowed: false, reason: 'no', rule: 'rule 3' } : { allowed: true },
  )
  const { app, events, post } = await audited(t, [deny])
  const [denied] = await post(toolCall(1, 'drop'))
  assert.deepEqual(
    [denied?.kind, denied?.outcome, denied?.status, denied?.policy, denied?.causes, denied?.mcp?.name],
    ['refused', 'denied', 403, 'rule 3', ['denied'], 'drop'],
  )
  events.length = 0
  await app.inject({ method: 'POST', url: '/mcp', payload: toolCall(1) })
  assert.deepEqual(
    events.map(({ kind, outcome, causes, subject, mcp }) => [kind, outcome, causes, subject, mcp]),
    [['refused', 'denied', ['none'], undefined, undefined]],
  )
})

test('the events of one request are bounded, and so are the texts in them', async (t) => {
  const long = 'x'.repeat(1000)
  const { post } = await audited(t, [], { subject: long, claims: { act: { sub: long } } })
  const uris = Array.from({ length: 40 }, (_, index) => `notes:${index}`)
  const params = { notifications: { resourceSubscriptions: uris } }
  const events = await post({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params })
  assert.deepEqual(
    events.map(({ mcp, causes }) => [mcp?.name, causes]),
    uris.slice(0, 16).map((uri) => [uri, ['more_names']]),
  )
  const [event] = events
  assert.deepEqual([event?.subject?.length, event?.actors?.[0]?.length], [256, 256])
})

test('a body that cannot be read is passed on, and its event has the cause', async (t) => {
  const { post } = await audited(t)
  const twice = '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}'
  for (const [body, cause] of [
    ['no json', 'message_not_json'],
    [twice, 'message_ambiguous'],
    ['{}', 'message_malformed'],
  ]) {
    assert.deepEqual(
      (await post(body)).map(({ kind, status, outcome, causes }) => [kind, status, outcome, causes]),
      [['called', 202, 'allowed', [cause]]],
      body,
    )
  }
  const [mismatch] = await post(toolCall(1), { 'mcp-method': 'ping' })
  assert.deepEqual([mismatch?.causes, mismatch?.mcp?.name], [['message_header_mismatch'], 'add'])
})

const failing: Entry = mcpPlugin('failing', ({ http }, passage) => {
  const config = { mcp: true }
  const read = async (request: FastifyRequest): Promise<void> =>
    observationOf(request)?.bodyRead(await request.wholeBody())
  http.post('/answered', { config, onRequest: read }, (request) => {
    observationOf(request)?.callAnswered(2, 'tool_error')
    observationOf(request)?.callAnswered('x', 'rpc_error')
    return 'ok'
  })
  http.post('/unreachable', { config, onRequest: read }, () => {
    throw new UpstreamError('TARGET_UNREACHABLE', 'no')
  })
  http.post('/never', { config, onRequest: read }, (_request, reply) => void reply.hijack())
  http.get('/stream', { config }, async (_request, reply) => {
    const headers = [['content-type', 'text/event-stream']] as const
    await passage.send(reply, { status: 200, headers, body: new PassThrough() })
    return reply
  })
})

test('the event of a failure has its cause: an error answer, a status, or an aborted response', async (t) => {
  const { app, events } = await audited(t, [failing])
  const ask = (url: string, payload: object) => app.inject({ method: 'POST', url, headers: asAnn, payload })
  await ask('/answered', [toolCall(1), toolCall(2), toolCall('x'), toolCall('2')])
  await ask('/unreachable', toolCall(1))
  assert.deepEqual(
    events.map(({ status, outcome, causes }) => [status, outcome, causes]),
    [
      [200, 'allowed', undefined],
      [200, 'failed', ['tool_error']],
      [200, 'failed', ['rpc_error']],
      [200, 'allowed', undefined],
      [502, 'failed', ['target_unreachable']],
    ],
  )
})

test('calls fail when their client leaves; ending the stream of a GET is no failure', async (t) => {
  const { observed, entry } = observing('audit')
  const { addresses } = await serving(t, [listen, entry, known(), failing])
  const body = JSON.stringify(toolCall(1))
  const head = `Host: a\r\nAuthorization: Bearer x\r\nContent-Type: application/json\r\n`
  const call = dial(addresses.main ?? '')
  call.write(`POST /never HTTP/1.1\r\n${head}Content-Length: ${body.length}\r\n\r\n${body}`)
  const stream = dial(addresses.main ?? '')
  stream.write(`GET /stream HTTP/1.1\r\n${head}\r\n`)
  await new Promise((resolve) => stream.once('data', resolve))
  stream.destroy()
  await eventually(() => observed.events.length === 1)
  call.destroy()
  await eventually(() => observed.events.length === 2)
  assert.deepEqual(
    observed.events.map(({ kind, status, outcome, causes, mcp }) => [
      kind,
      status,
      outcome,
      causes,
      mcp?.name,
    ]),
    [
      ['accepted', 200, 'allowed', undefined, undefined],
      ['called', 499, 'failed', ['aborted'], 'add'],
    ],
  )
})

test('no event holds an argument, a token or a query, for any call', async (t) => {
  const { post } = await audited(t)
  const canary = 'CANARY-7d1f'
  const values = fc.oneof(
    fc.constant(canary),
    fc.record({ deep: fc.constant(canary), name: fc.constant(canary) }),
    fc.array(fc.constant(canary), { minLength: 1, maxLength: 3 }),
  )
  const calls = fc.oneof(
    fc.record({
      method: fc.constant('tools/call'),
      params: fc.record({ name: fc.string(), arguments: values }),
    }),
    fc.record({
      method: fc.constant('resources/read'),
      params: fc.record({ uri: fc.webUrl().map((url) => `${url}?token=${canary}#${canary}`) }),
    }),
    fc.record({ method: fc.string({ minLength: 1 }), params: values }),
    fc.record({ result: values }),
    fc.record({ error: values }),
  )
  await fc.assert(
    fc.asyncProperty(fc.oneof(calls, fc.array(calls, { minLength: 1, maxLength: 3 })), async (call) => {
      const withIds = [call].flat().map((each) => ({ jsonrpc: '2.0', id: canary, ...each }))
      const body = Array.isArray(call) ? withIds : withIds[0]
      const events = await post(body, { authorization: `Bearer ${canary}` })
      assert.ok(events.length > 0)
      assert.ok(!JSON.stringify(events).includes(canary), JSON.stringify(events))
    }),
  )
})
