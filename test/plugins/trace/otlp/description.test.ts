import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '#kit/runs.js'
import { collector, END, messageOf, startedAt, toolCall, tracing } from '../collector.js'

const secretive = fc.record({
  query: fc.constantFrom('', '?key=CANARY', '?a#CANARY', '#CANARY'),
  user: fc.constantFrom('', 'CANARY@', 'me:CANARY@', 'a@b:CANARY@'),
  scheme: fc.constantFrom('https:', 'postgres:', 'x-y+z:', ''),
  path: fc.constantFrom('', '/', '/a@b', '//c'),
})

test('no query, user, argument, token or long text is exported', async (t) => {
  const { url, received, spans } = await collector(t)
  const { tracer, requestWith, stop } = await tracing(t, { url })
  const long = 'x'.repeat(100_000)
  const request = await requestWith({
    authorization: 'Bearer CANARY',
    cookie: 'a=CANARY',
    'mcp-session-id': 's'.repeat(5000),
    'x-anything': 'CANARY',
    traceparent: `CANARY${long.slice(0, 3000)}`,
  })
  const started = (message: ReturnType<typeof messageOf>) => {
    const trace = tracer.start({ request, message, startedAt })
    trace.part?.({ name: long, startedAt, endedAt: startedAt, failure: long })
    trace.end?.({ ...END, outcome: 'failed', causes: [long] })
  }
  for (const method of ['tools/call', long])
    for (const kind of ['tool', 'prompt', 'resource'] as const)
      started(messageOf({ kind: 'request', method, id: long, subjects: [{ kind, name: long }] }))
  fc.assert(
    fc.property(secretive, ({ scheme, user, path, query }) => {
      const name = `${scheme}//${user}host${path}${query}`
      started(
        messageOf({
          kind: 'request',
          method: 'resources/read',
          id: 1,
          subjects: [{ kind: 'resource', name }],
        }),
      )
    }),
    {
      numRuns: runs(100),
      examples: [
        [{ scheme: 'https:', user: '', path: '/a@b', query: '' }],
        [{ scheme: 'postgres:', user: 'me:CANARY@', path: '', query: '' }],
        [{ scheme: '', user: '', path: '//c', query: '' }],
      ],
    },
  )
  await stop()

  assert.ok(spans().length > runs(200) / 2)
  for (const { text } of received) assert.doesNotMatch(text, /CANARY/)
  for (const { name, attributes } of spans())
    for (const text of [name, ...Object.values(attributes)]) assert.ok(String(text).length <= 256)
  const uris = spans().flatMap(({ attributes }) => attributes['mcp.resource.uri'] ?? [])
  assert.ok(
    uris.includes('https://host/a@b') && uris.includes('postgres://host') && uris.includes('//host//c'),
  )
})

test('other requests are named by method and route, and batches too', async (t) => {
  const { url, spans } = await collector(t)
  const { tracer, requestWith, stop } = await tracing(t, { url })
  const request = await requestWith()
  const prompt = { kind: 'prompt', name: 'greet' } as const
  const resource = { kind: 'resource', name: 'file:///a?b' } as const
  const messages = [
    undefined,
    messageOf(toolCall, toolCall),
    messageOf({ kind: 'response', method: '', subjects: [] }),
    messageOf({ ...toolCall, method: 'prompts/get', id: 'x', subjects: [prompt] }),
    messageOf({ ...toolCall, method: 'completion/complete', id: null, subjects: [prompt] }),
    messageOf({ ...toolCall, method: 'resources/read', subjects: [resource] }),
    messageOf({ kind: 'notification', method: 'notifications/initialized', subjects: [] }),
    messageOf({ ...toolCall, method: 'subscriptions/listen', subjects: [resource, resource] }),
    { ...messageOf(toolCall), isBatch: true },
  ]
  for (const message of messages) tracer.start({ request, message, startedAt }).end?.(END)
  await stop()

  const names = spans().map(({ name }) => name)
  assert.deepEqual(names, [
    'POST /mcp',
    'POST /mcp',
    'POST /mcp',
    'prompts/get greet',
    'completion/complete greet',
    'resources/read',
    'notifications/initialized',
    'subscriptions/listen',
    'tools/call get_weather',
  ])
  const ids = spans().map(({ attributes }) => attributes['jsonrpc.request.id'])
  assert.deepEqual(ids, [undefined, undefined, undefined, 'x', undefined, '7', undefined, '7', '7'])
  assert.equal(spans()[3]?.attributes['gen_ai.prompt.name'], 'greet')
  assert.equal(spans()[5]?.attributes['mcp.resource.uri'], 'file:///a')
  assert.equal(spans()[7]?.attributes['mcp.resource.uri'], undefined)
})
