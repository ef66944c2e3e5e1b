import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { test } from 'node:test'
import { Guard, Refusal } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { closedPort, listening } from '#kit/listening.js'
import { plugin, providing } from '#kit/plugin.js'
import {
  CLIENT,
  collector,
  END,
  ERROR,
  INTERNAL,
  JSON_TYPE,
  messageOf,
  SERVER,
  startedAt,
  toolCall,
  traced,
  tracing,
  UNSET,
} from './collector.js'

contractSuite('trace/otlp', async (t) => {
  const { url } = await collector(t)
  return { list: [{ use: 'trace/otlp', with: { url, sample: 0.5 } }] }
})

contractSuite('trace/otlp, without a collector, and with every request', async () => ({
  list: [
    { use: 'trace/otlp', with: { url: `${await closedPort()}/v1/traces`, sample: 1, followParent: false } },
  ],
}))

test('a call is a span for the request, and one for each of its parts', async (t) => {
  const { url, spans, resources, received } = await collector(t)
  const { tracer, requestWith, stop } = await tracing(t, { url, serviceName: 'gateway' })
  const request = await requestWith({ 'mcp-session-id': 's-1' })

  const trace = tracer.start({ request, message: messageOf(toolCall), startedAt })
  const [[, traceparent] = ['', '']] = trace.headers
  assert.deepEqual(trace.headers, [['traceparent', traceparent]])
  trace.part?.({ name: 'verification', startedAt: startedAt + 1, endedAt: startedAt + 2.25 })
  trace.part?.({ name: 'target', startedAt: startedAt + 3, endedAt: startedAt + 19 })
  trace.end?.(END)
  await stop()

  const [verification, target, server, ...more] = spans()
  assert.deepEqual(more, [])
  assert.ok(verification && target && server)
  assert.equal(trace.sampled, true)
  assert.equal(trace.intoMeta, false)
  assert.deepEqual(
    [server.name, server.kind, server.parentSpanId],
    ['tools/call get_weather', SERVER, undefined],
  )
  assert.deepEqual(server.attributes, {
    'http.request.method': 'POST',
    'http.route': '/mcp',
    'mcp.protocol.version': '2025-11-25',
    'mcp.session.id': 's-1',
    'mcp.method.name': 'tools/call',
    'jsonrpc.request.id': '7',
    'gen_ai.tool.name': 'get_weather',
    'gen_ai.operation.name': 'execute_tool',
    'http.response.status_code': 200,
  })
  assert.equal(server.startTimeUnixNano, `${startedAt}000000`)
  assert.equal(server.endTimeUnixNano, `${startedAt + 20}500000`)
  assert.deepEqual([verification.name, verification.kind], ['verification', INTERNAL])
  assert.equal(verification.endTimeUnixNano, `${startedAt + 2}250000`)
  assert.deepEqual([target.name, target.kind], ['target', CLIENT])
  assert.equal(traceparent, `00-${server.traceId}-${target.spanId}-01`)
  assert.equal(trace.traceId, server.traceId)
  for (const part of [verification, target])
    assert.deepEqual([part.traceId, part.parentSpanId], [server.traceId, server.spanId])
  assert.equal(new Set([server.spanId, verification.spanId, target.spanId]).size, 3)
  assert.equal(resources()[0]['service.name'], 'gateway')
  assert.equal(received[0]?.headers['content-type'], 'application/json')
})

test('another attempt has a span of its own, and the target gets its id', async (t) => {
  const { url, spans } = await collector(t)
  const { tracer, requestWith, stop } = await tracing(t, { url })
  const trace = tracer.start({ request: await requestWith(), message: undefined, startedAt })

  const told = [1, 2].map((attempt) => {
    const [first] = trace.headers
    assert.deepEqual(trace.headers[0], first)
    trace.part?.({ name: 'target', startedAt, endedAt: startedAt + attempt, failure: 'target_reset' })
    return first?.[1].split('-')[2]
  })
  trace.part?.({ name: 'target', startedAt, endedAt: startedAt + 3 })
  trace.end?.(END)
  await stop()

  const targets = spans().filter(({ kind }) => kind === CLIENT)
  assert.deepEqual(
    targets.slice(0, 2).map(({ spanId }) => spanId),
    told,
  )
  assert.equal(new Set(targets.map(({ spanId }) => spanId)).size, 3)
  assert.deepEqual(targets[0]?.attributes, { 'error.type': 'target_reset' })
  assert.deepEqual(
    targets.map(({ status }) => status.code),
    [ERROR, ERROR, UNSET],
  )
})

test('a failed request is an error, a refused one is not', async (t) => {
  const { url, spans } = await collector(t)
  const target = await listening(t, (request, response) => {
    const isFound = request.method === 'POST' && request.url === '/'
    response.writeHead(isFound ? 200 : request.method === 'GET' ? 405 : 404, JSON_TYPE)
    request.resume().on('end', () => response.end(isFound ? '{"id":7,"result":{"isError":true}}' : ''))
  })
  const refusing = providing('refusing', Guard, ({ headers }) => {
    if (headers['x-refused'] !== undefined) throw new Refusal(403, 'NOT_HERE', 'not here')
  })
  const { running, main } = await traced(t, { url }, target, [refusing])
  const call = { method: 'POST', headers: JSON_TYPE, body: '{"id":7,"method":"ping"}' }
  const refused = { ...call, headers: { ...JSON_TYPE, 'x-refused': '1' } }
  for (const [path, request] of [
    ['/', call],
    ['/nowhere', call],
    ['/', refused],
    ['/', {}],
  ] as const)
    await (await fetch(main + path, request)).text()
  await running.stop(0)

  assert.deepEqual(
    spans()
      .filter(({ kind }) => kind === SERVER)
      .map(({ status, attributes }) => [
        attributes['http.response.status_code'],
        status.code,
        attributes['error.type'],
      ]),
    [
      [200, ERROR, 'tool_error'],
      [404, ERROR, 'target_status'],
      [403, UNSET, 'not_here'],
      [405, UNSET, undefined],
    ],
  )
})

test('a JSON-RPC error is shown by its code', async (t) => {
  const { url, spans } = await collector(t)
  const target = await listening(t, (request, response) => {
    const error = { code: -32602, message: 'Unknown tool: SECRET' }
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 7, error }))
    })
  })
  const { running, main } = await traced(t, { url }, target)
  const call = { method: 'POST', headers: JSON_TYPE, body: '{"jsonrpc":"2.0","id":7,"method":"ping"}' }
  await (await fetch(main, call)).text()
  await running.stop(0)

  const [server] = spans().filter(({ kind }) => kind === SERVER)
  assert.deepEqual(
    ['error.type', 'rpc.response.status_code'].map((name) => server?.attributes[name]),
    ['-32602', '-32602'],
  )
  assert.ok(!JSON.stringify(spans()).includes('SECRET'))
})

test('a 4xx of the gateway itself is no error, a 5xx is one', async (t) => {
  const { url, spans } = await collector(t)
  const answering = plugin('answering', ({ http }) => {
    http.get<{ Params: { status: string } }>('/own/:status', ({ params }, reply) =>
      reply.code(Number(params.status)).send(),
    )
  })
  const { running, main } = await traced(t, { url }, await closedPort(), [answering])
  for (const status of [404, 500]) assert.equal((await fetch(`${main}/own/${status}`)).status, status)
  await running.stop(0)

  assert.deepEqual(
    spans()
      .filter(({ kind }) => kind === SERVER)
      .map(({ status, attributes }) => [status.code, attributes['error.type']]),
    [
      [UNSET, '404'],
      [ERROR, '500'],
    ],
  )
})

test('a real call through a proxy is one trace from the caller to the target', async (t) => {
  const { url, spans } = await collector(t)
  const seen: IncomingHttpHeaders[] = []
  const target = await listening(t, (request, response) => {
    seen.push(request.headers)
    request.resume()
    response.setHeader('content-type', 'application/json')
    response.end('{"jsonrpc":"2.0","id":7,"result":{}}')
  })
  const { running, main } = await traced(t, { url, sample: 0 }, `${target}/mcp`)
  const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const params = { name: 'get_weather', arguments: { city: 'CANARY-argument' } }
  const response = await fetch(main, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: 'Bearer CANARY-token',
      traceparent: parent,
      tracestate: 'a=1',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params }),
  })
  assert.equal(response.status, 200)
  await response.text()
  await running.stop(0)

  const server = spans().find(({ kind }) => kind === SERVER)
  const client = spans().find(({ kind }) => kind === CLIENT)
  assert.ok(server && client, JSON.stringify(spans()))
  assert.equal(server.name, 'tools/call get_weather')
  assert.equal(`00-${server.traceId}-${server.parentSpanId}-01`, parent)
  assert.equal(server.traceState, 'a=1')
  assert.equal(client.parentSpanId, server.spanId)
  assert.equal(seen[0]?.['traceparent'], `00-${server.traceId}-${client.spanId}-01`)
  assert.equal(seen[0]?.['tracestate'], 'a=1')
  assert.ok(Number(server.endTimeUnixNano) >= Number(client.endTimeUnixNano))
  assert.doesNotMatch(JSON.stringify(spans()), /CANARY/)
})

test('across a reload each request is exported once', async (t) => {
  const { url, spans } = await collector(t)
  const target = await listening(t, (request, response) => {
    request.resume().on('end', () => response.end('ok'))
  })
  const { running, main, list } = await traced(t, { url }, target)
  const asked = async (count: number) => {
    for (let each = 0; each < count; each++) assert.equal(await (await fetch(main)).text(), 'ok')
  }
  await asked(3)
  await running.swap(list)
  await asked(3)
  await running.stop(0)
  const servers = spans().filter(({ kind }) => kind === SERVER)
  assert.equal(servers.length, 6)
  assert.equal(new Set(servers.map(({ traceId }) => traceId)).size, 6)
})
