import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { eventually } from '#kit/captured-log.js'
import { listening } from '#kit/listening.js'
import { mcpTarget } from '#kit/mcp-target.js'
import { sdkServer } from '../../../conformance/sdk-server/http.js'
import { ask, type Bridged, bridged, initialize } from './bridged.js'

const VERSION = '2026-07-28'
const PREFIX = 'io.modelcontextprotocol/'

type Message = Readonly<Record<string, unknown>>
type Params = Readonly<Record<string, unknown>>

const META = {
  [`${PREFIX}protocolVersion`]: VERSION,
  [`${PREFIX}clientInfo`]: { name: 'test', version: '1' },
  [`${PREFIX}clientCapabilities`]: { elicitation: {}, sampling: {}, roots: {} },
}

const request = (id: string | number, method: string, params: Params = {}, meta: Params = {}) =>
  ask(id, method, { ...params, _meta: { ...META, ...meta } })

/** Sends a message over HTTP, and records every message of the response. */
async function overHttp(
  url: string,
  message: ReturnType<typeof request>,
  signal?: AbortSignal,
  take: (message: Message) => void = () => {},
): Promise<Message[]> {
  const { _meta, name, uri } = Object(message.params)
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': _meta[`${PREFIX}protocolVersion`],
      'mcp-method': message.method,
      ...((name ?? uri) !== undefined && { 'mcp-name': name ?? uri }),
    },
    body: JSON.stringify(message),
    signal: signal ?? null,
  })
  const kept: Message[] = []
  let text = ''
  const keep = (json: string): void => {
    kept.push(JSON.parse(json))
    take(JSON.parse(json))
  }
  for await (const piece of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    text += piece
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data: {')) keep(line.slice('data: '.length))
  }
  if (text.startsWith('{')) keep(text)
  return kept
}

/** All messages of the bridge from the request to its response. */
async function throughBridge(bridge: Bridged, message: ReturnType<typeof request>): Promise<Message[]> {
  const before = bridge.lines.length
  bridge.say(message)
  await bridge.heard(message.id)
  return bridge.lines.slice(before).map((line) => JSON.parse(line))
}

async function serving(t: TestContext): Promise<string> {
  const { url, close } = await sdkServer()
  t.after(close)
  return url
}

const call = (id: string | number, name: string, params: Params = {}, meta: Params = {}) =>
  request(id, 'tools/call', { name, arguments: {}, ...params }, meta)

test('2026-07-28: the official server sends the same messages through the bridge and over HTTP', async (t) => {
  const url = await serving(t)
  const bridge = bridged(t, url)
  const questions = [
    request(1, 'server/discover'),
    request('two', 'tools/list'),
    request(3, 'prompts/list'),
    request(4, 'resources/list'),
    request(5, 'resources/templates/list'),
    call(6, 'test_simple_text'),
    call(7, 'test_multiple_content_types'),
    call(8, 'test_error_handling'),
    call(9, 'test_tool_with_progress', {}, { progressToken: 'p' }),
    call(10, 'test_tool_with_logging', {}, { [`${PREFIX}logLevel`]: 'info' }),
    call(11, 'test_input_required_result_elicitation'),
    call(12, 'test_input_required_result_elicitation', {
      inputResponses: { user_name: { action: 'accept', content: { name: 'Zoë\u2028' } } },
    }),
    call(13, 'test_input_required_result_capabilities'),
    call(14, 'no-such-tool'),
    request(15, 'resources/read', { uri: 'test://static-text' }),
    request(16, 'resources/read', { uri: 'test://no-such' }),
    request(17, 'prompts/get', {
      name: 'test_prompt_with_arguments',
      arguments: { arg1: 'a', arg2: 'b' },
    }),
    request(18, 'completion/complete', {
      ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
      argument: { name: 'arg1', value: 'par' },
    }),
    request(19, 'no/such/method'),
    request(20, 'tools/list', {}, { [`${PREFIX}protocolVersion`]: '2099-01-01' }),
    request(21, 'tools/list', {}, { [`${PREFIX}clientCapabilities`]: 'nonsense' }),
    request(22, 'subscriptions/listen', { notifications: 'nonsense' }),
  ]

  let back = 0
  for (const question of questions) {
    const through = await throughBridge(bridge, question)
    assert.deepEqual(through, await overHttp(url, question), JSON.stringify(question))
    back += through.length
  }
  // Three with progress and three with log messages, each with its response.
  assert.equal(back, questions.length + 6)
  const errors = bridge.lines.flatMap((line) => JSON.parse(line).error?.code ?? [])
  t.diagnostic(`${questions.length} questions, ${back} messages back, errors ${errors.join(' ')}`)
})

test('2026-07-28: a subscription has the same messages through the bridge and over HTTP, until it is cancelled', async (t) => {
  const url = await serving(t)
  const bridge = bridged(t, url)
  const subscribe = request('s', 'subscriptions/listen', {
    notifications: { toolsListChanged: true, promptsListChanged: true },
  })
  const ending = new AbortController()
  const direct: Message[] = []
  const open = overHttp(url, subscribe, ending.signal, (message) => direct.push(message))
  bridge.say(subscribe)
  const heard = () =>
    bridge.lines.map((line) => JSON.parse(line)).filter(({ method }) => method !== undefined)
  const both = (count: number) =>
    eventually(() => (heard().length === count && direct.length === count) || undefined)
  await both(1)

  for (const [id, tool] of ['test_trigger_tool_change', 'test_trigger_prompt_change'].entries()) {
    await throughBridge(bridge, call(id, tool))
    await both(id + 2)
  }
  assert.deepEqual(heard(), direct)
  assert.deepEqual(
    direct.map(({ method }) => method),
    [
      'notifications/subscriptions/acknowledged',
      'notifications/tools/list_changed',
      'notifications/prompts/list_changed',
    ],
  )

  const cancel = { requestId: 's', reason: 'enough', _meta: META }
  bridge.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: cancel })
  await throughBridge(bridge, call(9, 'test_trigger_tool_change'))
  await eventually(() => direct.length === 4 || undefined)
  assert.equal(heard().length, 3)
  assert.ok(!bridge.lines.some((line) => JSON.parse(line).id === 's'))
  ending.abort()
  await open.catch(() => {})
})

test('2026-07-28: a subscription that the server ends gets a response', async (t) => {
  const target = await mcpTarget(t, { era: VERSION })
  const bridge = bridged(t, target.url)
  bridge.say(request(1, 'subscriptions/listen', { notifications: { toolsListChanged: true } }))
  await bridge.heard('notifications/subscriptions/acknowledged')
  await target.announce()
  await bridge.heard('notifications/tools/list_changed')

  await target.forget()
  assert.equal(Object((await bridge.heard(1))['result'])['resultType'], 'complete')
})

/** A server with a tool whose arguments are repeated in headers; it refuses a call without them. */
async function serverWithHeaders(t: TestContext) {
  const heads: Readonly<Record<string, unknown>>[] = []
  const inputSchema = z.object({
    region: z.string().meta({ 'x-mcp-header': 'Region' }),
    deep: z.object({
      count: z.int().nullish(),
      dry: z.boolean().meta({ 'x-mcp-header': 'Dry-Run' }),
    }),
    left: z.string().optional().meta({ 'x-mcp-header': 'Left' }),
    plain: z.string().optional(),
  })
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'mirroring', version: '1' })
    server.registerTool('place', { description: 'Wants headers', inputSchema }, (given) => ({
      content: [{ type: 'text' as const, text: JSON.stringify(given) }],
    }))
    return server
  })
  t.after(() => handler.close())
  const answer = toNodeHandler(handler)
  const url = await listening(t, (incoming, response) => {
    heads.push(incoming.headers)
    void answer(incoming, response)
  })
  return { url, heads, methods: () => heads.map((head) => head['mcp-method']) }
}

const PLACE = { region: ' Zürich', deep: { dry: true, count: null }, plain: 'p' }

test('2026-07-28: arguments are repeated in the headers that a tool’s schema names, once the schema is known', async (t) => {
  const { url, heads, methods } = await serverWithHeaders(t)
  const bridge = bridged(t, url)
  await throughBridge(bridge, request(1, 'tools/list'))

  const [answer] = await throughBridge(bridge, call(2, 'place', { arguments: PLACE }))
  assert.deepEqual(JSON.parse(Object(answer?.['result']).content[0].text), PLACE)
  assert.deepEqual(methods(), ['tools/list', 'tools/call'])
  const mirrored = Object.entries(heads.at(-1) ?? {}).filter(([name]) => name.startsWith('mcp-param-'))
  assert.deepEqual(Object.fromEntries(mirrored), {
    'mcp-param-region': '=?base64?IFrDvHJpY2g=?=',
    'mcp-param-dry-run': 'true',
  })
})

test('2026-07-28: a call of a tool that was not listed works, and the client does not see the extra request', async (t) => {
  const { url, methods } = await serverWithHeaders(t)
  const bridge = bridged(t, url)

  const [answer] = await throughBridge(bridge, call(1, 'place', { arguments: PLACE }))
  assert.deepEqual(JSON.parse(Object(answer?.['result']).content[0].text), PLACE)
  assert.deepEqual(methods(), ['tools/call', 'tools/list', 'tools/call'])
  assert.equal(bridge.lines.length, 1)
})

test('2026-07-28: the name in a message is repeated in a header, whatever it is', async (t) => {
  const target = await mcpTarget(t, { era: VERSION })
  const bridge = bridged(t, target.url)
  const named = [
    request(1, 'prompts/get', { name: 'a' }),
    request(2, 'resources/read', { uri: 'b:c' }),
    request(3, 'tasks/get', { taskId: 'd' }),
    request(4, 'tasks/cancel', { taskId: 'e' }),
    request(5, 'tasks/update', { taskId: '=?base64?' }),
    request(6, 'tools/list', { name: 'f' }),
  ]
  for (const message of named) await throughBridge(bridge, message)

  assert.deepEqual(
    target.asked.map(({ headers }) => headers['mcp-name']),
    ['a', 'b:c', 'd', 'e', '=?base64?PT9iYXNlNjQ/?=', undefined],
  )
})

test('2026-07-28: when a target refuses the headers again, the client gets its error, and there is no third attempt', async (t) => {
  const target = await mcpTarget(t, { era: VERSION })
  target.intercept = (_request, response, body) => {
    const { id, method } = JSON.parse(body)
    if (method !== 'tools/call') return false
    const error = { code: -32_020, message: 'the headers disagree', data: { mine: true } }
    response.writeHead(400, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, error }))
    return true
  }
  const bridge = bridged(t, target.url)

  const [answer] = await throughBridge(bridge, call(1, 'add', { arguments: { a: 1, b: 2 } }))
  assert.deepEqual(answer?.['error'], {
    code: -32_020,
    message: 'the headers disagree',
    data: { mine: true },
  })
  assert.deepEqual(
    target.asked.map(({ headers }) => headers['mcp-method']),
    ['tools/call', 'tools/list', 'tools/call'],
  )
})

for (const era of ['2025-11-25', '2024-11-05'] as const) {
  test(`a client of 2026-07-28 gets an error from a target of ${era}, and can initialize the older version`, async (t) => {
    const { url } = await mcpTarget(t, { era })
    const bridge = bridged(t, url)

    const [refusal] = await throughBridge(bridge, request('probe', 'server/discover'))
    assert.ok(refusal?.['error'] !== undefined)
    const [answer] = await throughBridge(bridge, initialize(era))
    assert.equal(Object(answer?.['result'])['protocolVersion'], era)
  })
}
