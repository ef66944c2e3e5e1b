import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { FastifyRequest } from 'fastify'
import type { AuditEvent, Entry } from 'sallyport'
import { ByteBudget, observationOf, type ResponseSink } from 'sallyport/toolkit'
import { readingAnswers } from '#core/mcp/answers.js'
import { setCallObserver } from '#core/mcp/call-observer.js'
import { serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { mcpTarget } from '#kit/mcp-target.js'
import { listen, plugin } from '#kit/plugin.js'
import { policy } from '../../plugins/forward/hiding.js'
import { observing } from '../../plugins/forward/observing.js'
import { openRequest, proxied, renewed, send } from '../../plugins/forward/proxied.js'

type Respond = (response: ServerResponse, body: string, request: IncomingMessage) => unknown

const target = (t: TestContext, respond: Respond): Promise<string> =>
  listening(t, (request, response) => {
    void text(request).then((body) => respond(response, body, request))
  })

const JSON_TYPE = { 'content-type': 'application/json' }
const SSE_TYPE = { 'content-type': 'text/event-stream' }
const request = (id: string | number | null, method = 'ping', params?: object): object => ({
  jsonrpc: '2.0',
  id,
  method,
  ...(params && { params }),
})
const post = (message: unknown) => ({ method: 'POST', headers: JSON_TYPE, body: JSON.stringify(message) })
const fine = (id: string | number | null): object => ({ jsonrpc: '2.0', id, result: {} })
const toolError = (id: string | number): object => ({ jsonrpc: '2.0', id, result: { isError: true } })
const rpcError = (id?: string | number | null): object => ({
  jsonrpc: '2.0',
  id,
  error: { code: -1, message: 'x' },
})

const outcomes = (events: readonly AuditEvent[]) =>
  events.map(({ outcome, causes = [] }) => [outcome, ...causes].join(' '))

// Metrics parse the message at once, and audits alone do not.
const HOW = ['forward/http', 'forward/balanced', 'with a policy', 'without metrics'] as const
const EITHER = ['forward/http', 'without metrics'] as const

/** An observed forwarder of either kind. */
async function observed(
  t: TestContext,
  origin: string,
  how: (typeof HOW)[number],
  more: readonly Entry[] = [],
) {
  const { entry, ...rest } = observing(how !== 'without metrics')
  const forward =
    how === 'forward/balanced'
      ? { use: how, with: { targets: [origin] } }
      : { use: 'forward/http', with: { target: origin } }
  const { addresses } = await serving(t, [
    listen,
    { use: 'auth/anonymous' },
    entry,
    ...(how === 'with a policy' ? [policy()] : []),
    ...more,
    forward,
  ])
  return { main: addresses.main ?? '', ...rest }
}

for (const how of HOW) {
  test(`a failure that a 200 reports counts as a failure, as JSON and as an event: ${how}`, async (t) => {
    const answers: object[] = []
    let isStream = false
    const origin = await target(t, (response) => {
      const answer = JSON.stringify(answers.shift())
      if (isStream) response.writeHead(200, SSE_TYPE).end(`id: 1\ndata: ${answer}\n\n`)
      else response.writeHead(200, JSON_TYPE).end(answer)
    })
    const { main, events, eventsOf } = await observed(t, origin, how)
    const call = request(7, 'tools/call', { name: 'a' })
    for (isStream of [false, true]) {
      events.length = 0
      const errors = [toolError(7), rpcError(7), rpcError(null), rpcError()]
      for (const [index, answer] of [fine(7), ...errors, toolError(8), request(7)].entries()) {
        answers.push(answer)
        assert.equal((await send(main, post(call))).body.includes(JSON.stringify(answer)), true)
        await eventsOf(index + 1)
      }
      const failed = ['failed tool_error', 'failed rpc_error', 'failed rpc_error', 'failed rpc_error']
      assert.deepEqual(outcomes(events), ['allowed', ...failed, 'allowed', 'allowed'])
    }
  })

  test(`each call of a batch has its own outcome, whatever the order of the answers: ${how}`, async (t) => {
    const batch = [
      request('1'),
      request(1),
      { jsonrpc: '2.0', method: 'notifications/x' },
      request('é"'),
      request(null),
    ]
    const answers = [fine(null), toolError('é"'), request(1), rpcError(1), fine('1'), rpcError(99)]
    const origin = await target(t, (response, body) => {
      if (body.includes('"stream"')) {
        response.writeHead(200, SSE_TYPE)
        for (const answer of answers) response.write(`data: ${JSON.stringify(answer)}\n\n`)
        response.end()
      } else response.writeHead(200, JSON_TYPE).end(JSON.stringify(answers))
    })
    const { main, events, eventsOf } = await observed(t, origin, how)
    for (const stream of [[], [request('stream')]]) {
      events.length = 0
      await send(main, post([...batch, ...stream]))
      await eventsOf(5 + stream.length)
      assert.deepEqual(outcomes(events).slice(0, 5), [
        'allowed',
        'failed rpc_error',
        'allowed',
        'failed tool_error',
        'allowed',
      ])
    }
  })

  test(`an error without an id counts for each call without an answer: ${how}`, async (t) => {
    const batch = [request(1), { jsonrpc: '2.0', method: 'notifications/x' }, request(2)]
    const answers: unknown[] = []
    const origin = await target(t, (response) =>
      response.writeHead(200, JSON_TYPE).end(JSON.stringify(answers.shift())),
    )
    const { main, events, eventsOf } = await observed(t, origin, how)
    const failed = 'failed rpc_error'
    for (const [answer, expected] of [
      [rpcError(null), [failed, 'allowed', failed]],
      [rpcError(), [failed, 'allowed', failed]],
      [
        [rpcError(null), fine(1)],
        ['allowed', 'allowed', failed],
      ],
      [
        [toolError(2), rpcError()],
        [failed, 'allowed', 'failed tool_error'],
      ],
    ] as const) {
      events.length = 0
      answers.push(answer)
      await send(main, post(batch))
      assert.deepEqual(outcomes(await eventsOf(3)), expected)
    }
  })

  if (how === 'without metrics') continue
  test(`tools in a list become labels, tools in other answers do not: ${how}`, async (t) => {
    const origin = await target(t, (response, body) => {
      const { id, method } = JSON.parse(body)
      const tools = [{ name: method === 'tools/list' ? `listed-${id}` : 'unlisted' }]
      const answer = JSON.stringify({ jsonrpc: '2.0', id, result: { tools } })
      // In one piece of known length, or in pieces.
      const length = id === 'pieces' ? {} : { 'content-length': answer.length }
      response.writeHead(200, { ...JSON_TYPE, ...length }).end(answer)
    })
    const { main, eventsOf, operations } = await observed(t, origin, how)
    const uses = ['listed-whole', 'listed-escaped', 'listed-pieces', 'unlisted']
    const callAll = uses.map((name) => post(request(1, 'tools/call', { name })))
    const lists = ['whole', 'escaped', 'pieces'].map((id) => post(request(id, 'tools/list')))
    const escaped = lists.map((list, index) =>
      index === 1 ? { ...list, body: list.body.replace('/', '\\/') } : list,
    )
    for (const [index, message] of [...callAll, ...escaped, ...callAll].entries()) {
      await send(main, message)
      await eventsOf(index + 1)
    }
    assert.deepEqual(
      operations.map(({ tool }) => tool),
      [...uses.map(() => 'other'), '', '', '', ...uses.slice(0, 3), 'other'],
    )
  })
}

for (const how of EITHER)
  test(`a response without a readable answer is judged by its status alone: ${how}`, async (t) => {
    const failure = JSON.stringify(toolError(1))
    const origin = await target(t, (response, _body, { url }) => {
      if (url === '/accepted') response.writeHead(202).end()
      else if (url === '/empty') response.writeHead(200, JSON_TYPE).end()
      else if (url === '/broken') response.writeHead(200, JSON_TYPE).end(failure.slice(0, -1))
      else if (url === '/silent') response.writeHead(200, SSE_TYPE).end('id: 1\n\n')
      else response.writeHead(400, JSON_TYPE).end(failure)
    })
    const { main, eventsOf } = await observed(t, origin, how)
    const paths = ['/accepted', '/empty', '/broken', '/silent', '/400']
    for (const [index, path] of paths.entries()) {
      await send(main, { ...post(request(1)), path })
      await eventsOf(index + 1)
    }
    assert.deepEqual(
      (await eventsOf(5)).map(({ outcome }) => outcome),
      [...Array(4).fill('allowed'), 'failed'],
    )
  })

for (const how of EITHER)
  test(`an encoded answer, or one of more than a mebibyte, is reported as not read: ${how}`, async (t) => {
    const origin = await target(t, (response, body, { url }) => {
      const failure = JSON.stringify(toolError(JSON.parse(body).id))
      const fill = ' '.repeat(1024 * 1024)
      if (url === '/gzip')
        response.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }).end(gzipSync(failure))
      else if (url === '/large') response.writeHead(200, JSON_TYPE).end(failure + fill)
      else if (url === '/stream') response.writeHead(200, SSE_TYPE).end(`data: ${fill}${failure}\n\n`)
      else response.writeHead(200, JSON_TYPE).end(failure)
    })
    const { main, eventsOf } = await observed(t, origin, how)
    const cases = [
      ['/gzip', request(1), 'allowed answer_not_read'],
      ['/large', request(1), 'allowed answer_not_read'],
      ['/stream', request(1), 'allowed answer_not_read'],
      ['/json', request('i'.repeat(1_000)), 'failed tool_error'],
      ['/gzip', { jsonrpc: '2.0', method: 'notifications/x' }, 'allowed'],
    ] as const
    for (const [index, [path, message]] of cases.entries()) {
      await send(main, { ...post(message), path })
      await eventsOf(index + 1)
    }
    assert.deepEqual(
      outcomes(await eventsOf(cases.length)),
      cases.map(([, , outcome]) => outcome),
    )
  })

test('if a request is sent again, only the last answer counts', async (t) => {
  const asked: string[] = []
  const origin = await target(t, (response, _body, { headers: { authorization = '' } }) => {
    asked.push(authorization)
    if (authorization === 'Bearer 1') response.writeHead(401, JSON_TYPE).end(JSON.stringify(rpcError(1)))
    else response.writeHead(200, JSON_TYPE).end(JSON.stringify(fine(1)))
  })
  const { main, eventsOf } = await observed(t, origin, 'forward/http', [renewed])
  await send(main, post(request(1)))
  assert.deepEqual(outcomes(await eventsOf(1)), ['allowed'])
  assert.deepEqual(asked, ['Bearer 1', 'Bearer 2'])
})

for (const how of EITHER)
  test(`a stream that its target cuts off fails, whatever the target has answered: ${how}`, async (t) => {
    const origin = await target(t, (response) => {
      response.writeHead(200, SSE_TYPE).write(`data: ${JSON.stringify(fine(1))}\n\n`)
      setImmediate(() => response.destroy())
    })
    const { main, eventsOf } = await observed(t, origin, how)
    await assert.rejects(send(main, post(request(1))))
    await assert.rejects(send(main, { method: 'GET', headers: { accept: 'text/event-stream' } }))
    const cut = 'failed target_reset aborted'
    assert.deepEqual(outcomes(await eventsOf(2)), [cut, cut])
  })

for (const how of [...EITHER, 'forward/balanced'] as const)
  test(`a response that begins before the body has ended is read all the same: ${how}`, async (t) => {
    const answer = `data: ${JSON.stringify(toolError(1))}\n\n`
    const origin = await listening(t, (incoming, response) => {
      response.writeHead(200, SSE_TYPE).flushHeaders()
      if (incoming.url === '/early') response.write(answer)
      void text(incoming).then(() => response.end(incoming.url === '/early' ? '' : answer))
    })
    const { main, events, eventsOf } = await observed(t, origin, how)
    const body = JSON.stringify(request(1, 'tools/call', { name: 'a' }))
    for (const [path, expected] of [
      ['/', 'failed tool_error'],
      ['/early', 'allowed answer_not_read'],
    ] as const) {
      events.length = 0
      const sending = httpRequest(main + path, { method: 'POST', headers: JSON_TYPE, agent: false })
      sending.write(body.slice(0, 20))
      const [response] = await once(sending, 'response')
      if (path === '/early') await once(response, 'readable')
      sending.end(body.slice(20))
      await text(response)
      assert.deepEqual(outcomes(await eventsOf(1)), [expected])
      assert.equal(events[0]?.mcp?.name, 'a')
    }
  })

for (const how of EITHER)
  test(`a client that leaves after each call has its answer causes no failure: ${how}`, async (t) => {
    const answers = [fine(1), toolError(2)]
    const origin = await target(t, (response) => {
      response.writeHead(200, SSE_TYPE)
      for (const answer of answers) response.write(`data: ${JSON.stringify(answer)}\n\n`)
    })
    const { main, events, eventsOf } = await observed(t, origin, how)
    const cases = [
      [request(1), ['allowed']],
      [request(2), ['failed tool_error']],
      [request(3), ['failed aborted']],
      [request(3, 'subscriptions/listen', { notifications: {} }), ['allowed']],
      [
        [request(1), request(2)],
        ['allowed', 'failed tool_error'],
      ],
      [
        [request(1), request(3)],
        ['failed aborted', 'failed aborted'],
      ],
    ] as const
    for (const [message, expected] of cases) {
      events.length = 0
      const incoming = await openRequest(main, post(message))
      let read = ''
      for await (const chunk of incoming.setEncoding('utf8')) {
        read += chunk
        if (read.includes('isError')) break
      }
      assert.deepEqual(outcomes(await eventsOf(expected.length)), expected)
    }
  })

test('the request body is parsed when its stream begins, so that the stream does not keep its bytes', async (t) => {
  const origin = await target(t, (response) => response.writeHead(200, SSE_TYPE).flushHeaders())
  const requests: FastifyRequest[] = []
  const seeing = plugin('seeing', ({ http }) => {
    http.addHook('onRequest', async (request) => void requests.push(request))
  })
  const { main } = await observed(t, origin, 'without metrics', [seeing])
  await openRequest(main, post(request(1, 'tools/call', { name: 'a' })))
  const [body] = requests.map((each) => observationOf(each)?.body)
  assert.equal(body?.unparsed, undefined)
  assert.equal(body?.message?.calls[0]?.subjects[0]?.name, 'a')
})

test('events pass before the answer arrives', async (t) => {
  let response: ServerResponse | undefined
  const origin = await target(t, (each) => {
    response = each.writeHead(200, SSE_TYPE)
    response.write('data: {"method":"a"')
  })
  const { main, eventsOf } = await observed(t, origin, 'forward/http')
  const incoming = await openRequest(main, post(request(1)))
  const chunks = incoming.setEncoding('utf8')[Symbol.asyncIterator]()
  const next = async () => (await chunks.next()).value

  assert.equal(await next(), 'data: {"method":"a"')
  response?.write(',"id":1}\n')
  assert.equal(await next(), ',"id":1}\n')
  response?.write('\ndata: {"id":1,"err')
  assert.equal(await next(), '\ndata: {"id":1,"err')
  response?.end('or":{}}\n\n')
  assert.equal(await next(), 'or":{}}\n\n')
  assert.deepEqual(outcomes(await eventsOf(1)), ['failed rpc_error'])
})

test('the results of the calls of an official SDK client', async (t) => {
  const { url } = await mcpTarget(t)
  const { main, events, eventsOf, operations } = await observed(t, url, 'forward/http')
  const client = new Client({ name: 'test', version: '1' })
  // The SDK's class does not fit its own interface under exactOptionalPropertyTypes.
  await client.connect(new StreamableHTTPClientTransport(new URL(main)) as never)
  t.after(() => client.close())
  await client.listTools()
  await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } })
  await client.callTool({ name: 'fail', arguments: {} })
  await client.callTool({ name: 'count', arguments: { to: 3 } }, undefined, { onprogress: () => {} })
  await assert.rejects(client.getPrompt({ name: 'none' }))
  while (events.filter(({ kind }) => kind === 'called').length < 7) await eventsOf(events.length + 1)

  const called = events.filter(({ kind }) => kind === 'called')
  const lines = called.map((event) => `${event.mcp?.method} ${event.mcp?.name ?? ''}: ${outcomes([event])}`)
  assert.deepEqual(lines, [
    'initialize : allowed',
    'notifications/initialized : allowed',
    'tools/list : allowed',
    'tools/call add: allowed',
    'tools/call fail: failed tool_error',
    'tools/call count: allowed',
    'prompts/get none: failed rpc_error',
  ])
  const tools = operations.map(({ tool }) => tool).filter((tool) => tool !== '')
  assert.deepEqual(tools, ['add', 'fail', 'count'])
})

test('the results of calls to an official SDK server without sessions', async (t) => {
  const { url } = await mcpTarget(t, { era: '2026-07-28' })
  const { main, eventsOf, operations } = await observed(t, url, 'forward/http')
  const ask = async (method: string, params: { readonly name?: string } = {}) => {
    const version = '2026-07-28'
    const about = {
      clientInfo: { name: 'test', version: '1' },
      clientCapabilities: {},
      protocolVersion: version,
    }
    const _meta = Object.fromEntries(
      Object.entries(about).map(([key, value]) => [`io.modelcontextprotocol/${key}`, value]),
    )
    const { body, ...rest } = post(request(1, method, { ...params, _meta }))
    const { name } = params
    const headers = {
      ...JSON_TYPE,
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': version,
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
    }
    return send(main, { ...rest, body, headers })
  }
  await ask('tools/list')
  await ask('tools/call', { name: 'fail' })
  await ask('tools/call', { name: 'headers' })
  const events = await eventsOf(3)
  assert.deepEqual(outcomes(events), ['allowed', 'failed tool_error', 'allowed'])
  assert.deepEqual(
    operations.map(({ tool }) => tool),
    ['', 'fail', 'headers'],
  )
})

test('without observers no response is parsed', async (t) => {
  const origin = await target(t, (response) => response.writeHead(200, JSON_TYPE).end('{"id":1,"error":{}}'))
  const { main } = await proxied(t, origin)
  assert.equal((await send(main, post(request(1)))).body, '{"id":1,"error":{}}')
})

test('the kept bytes of an answer count in the room, and are freed once it has ended in any way', () => {
  const to: ResponseSink = { begin: () => {}, data: () => true, end: () => true, discard: () => {} }
  const ends: readonly ((sink: ResponseSink) => unknown)[] = [
    (sink) => sink.end([]),
    (sink) => sink.discard(),
    (sink) => sink.data(Buffer.alloc(2 * 1024 * 1024, ' ')),
  ]
  for (const type of ['application/json', 'text/event-stream'])
    for (const end of ends) {
      const room = new ByteBudget(1024 * 1024)
      const request = {} as FastifyRequest
      const body = { unparsed: undefined, isComing: true, parse: () => {} }
      setCallObserver(request, {
        wantsAnswers: true,
        body,
        message: undefined,
        answerNotRead: () => {},
      } as never)
      const head = { status: 200, reason: 'OK', headers: ['Content-Type', type] }
      const sink = readingAnswers(to, head, request, room)
      sink.data(Buffer.from('data: {"id":1,'))
      assert.equal(room.reserve(1024 * 1024), false)
      end(sink)
      assert.equal(room.reserve(1024 * 1024), true, `${type} ${end}`)
    }
})
