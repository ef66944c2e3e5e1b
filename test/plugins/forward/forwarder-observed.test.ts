import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { type OutgoingHeaders, Tracer } from 'sallyport'
import { eventually } from '#kit/captured-log.js'
import { listening } from '#kit/listening.js'
import { providing } from '#kit/plugin.js'
import { observing, TRACE_ID, type Traced } from '../../core/observe/observing.js'
import { proxied, send } from './proxied.js'

const CANARY = 'CANARY-0b5e'

const toolCall = (argument: string) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'add', arguments: { text: argument } },
  })

/** A proxy with all kinds of observers, before a target that responds with its request. */
async function observedProxy(t: TestContext, status = 200) {
  const reached: { readonly headers: NodeJS.Dict<string | string[]>; readonly body: string }[] = []
  const target = await listening(t, (incoming, response) => {
    void text(incoming).then((body) => {
      reached.push({ headers: incoming.headers, body })
      response.writeHead(status, { 'content-type': 'application/json' }).end(`{"result":"${CANARY}"}`)
    })
  })
  const { observed, entry } = observing('audit', 'trace', 'measure')
  return { reached, observed, ...(await proxied(t, target, {}, [entry])) }
}

const JSON_TYPE = { 'content-type': 'application/json' }

/** Sends a body in chunks, or after `100 Continue`. */
function streamed(origin: string, headers: Readonly<Record<string, string>>, chunks: readonly string[]) {
  return new Promise<number | undefined>((resolve, reject) => {
    const asking = httpRequest(origin, {
      method: 'POST',
      headers: { ...JSON_TYPE, ...headers },
      agent: false,
    })
    asking.on('error', reject).on('response', (response) => {
      response.resume().on('end', () => resolve(response.statusCode))
    })
    const write = (): void => {
      for (const chunk of chunks) asking.write(chunk)
      asking.end()
    }
    if (headers['expect'] === undefined) write()
    else asking.on('continue', write).flushHeaders()
  })
}

test('observers see the call in a body, whole or in chunks, and the body passes unchanged', async (t) => {
  const { main, observed, reached } = await observedProxy(t)
  const small = toolCall('x')
  await send(main, { method: 'POST', headers: JSON_TYPE, body: small })
  await streamed(main, { 'transfer-encoding': 'chunked' }, [small.slice(0, 20), small.slice(20)])
  const large = toolCall('y'.repeat(512 * 1024))
  await send(main, { method: 'POST', headers: JSON_TYPE, body: large })
  await streamed(main, { expect: '100-continue', 'content-length': String(small.length) }, [small])
  await eventually(() => observed.events.length === 4)
  assert.deepEqual(
    observed.events.map(({ kind, outcome, mcp }) => [kind, outcome, mcp?.name]),
    Array(4).fill(['called', 'allowed', 'add']),
  )
  assert.deepEqual(
    reached.map(({ headers, body }) => [
      headers['transfer-encoding'] ?? headers['content-length'],
      body.length,
    ]),
    [
      [String(small.length), small.length],
      ['chunked', small.length],
      [String(large.length), large.length],
      [String(small.length), small.length],
    ],
  )
  assert.ok(observed.traces.every(({ beginning }) => beginning.message?.calls[0]?.method === 'tools/call'))
})

test('the target gets the start of a body before its end has come', async (t) => {
  const started = new Promise<string>((resolve) => {
    void listening(t, (incoming, response) => {
      incoming.once('data', (chunk: Buffer) => resolve(chunk.toString()))
      incoming.on('end', () => response.end())
    }).then(async (target) => {
      const { main } = await proxied(t, target, {}, [observing('audit', 'trace').entry])
      const asking = httpRequest(main, { method: 'POST', headers: JSON_TYPE, agent: false })
      asking.on('error', () => {}).write(toolCall('x').slice(0, 20))
      t.after(() => asking.destroy())
    })
  })
  assert.equal(await started, toolCall('x').slice(0, 20))
})

test('a body that is too large to observe passes unchanged, and its event says so', async (t) => {
  const { main, observed, reached } = await observedProxy(t)
  const bodies = [1, 17].map((size) => toolCall('z'.repeat(size * 1024 ** 2)))
  for (const body of bodies) {
    await send(main, { method: 'POST', headers: JSON_TYPE, body })
    await streamed(main, { 'transfer-encoding': 'chunked' }, [body.slice(0, 20), body.slice(20)])
  }
  await eventually(() => observed.events.length === 4)
  assert.deepEqual(
    observed.events.map(({ kind, outcome, causes, mcp }) => [kind, outcome, causes, mcp]),
    Array(4).fill(['called', 'allowed', ['body_not_read'], undefined]),
  )
  assert.deepEqual(
    reached.map((got) => got.body.length),
    bodies.flatMap(({ length }) => [length, length]),
  )
})

/** The outcome of each part. On a busy machine a verification is long enough to be a part too. */
const targetPartsOf = (trace: Traced | undefined) =>
  trace?.parts.filter(({ name }) => name === 'target').map(({ failure }) => failure)

test('the target gets the trace of the gateway, and no one else gets anything of the call', async (t) => {
  const { main, observed, reached, lines } = await observedProxy(t)
  const headers = {
    ...JSON_TYPE,
    authorization: `Bearer ${CANARY}`,
    traceparent: `00-${CANARY}`,
    tracestate: CANARY,
    baggage: 'kept=1',
  }
  await send(main, { method: 'POST', path: `/?q=${CANARY}`, headers, body: toolCall(CANARY) })
  await eventually(() => observed.traces[0]?.end !== undefined)
  const [got] = reached
  assert.equal(got?.headers['traceparent'], `00-${TRACE_ID}-b7ad6b7169203331-01`)
  assert.equal(got?.headers['tracestate'], undefined)
  assert.equal(got?.headers['baggage'], 'kept=1')
  const [trace] = observed.traces
  assert.deepEqual(targetPartsOf(trace), [undefined])
  assert.equal(observed.events[0]?.traceId, TRACE_ID)
  assert.ok(observed.measured.some(({ name }) => name === 'mcp_server_operation_duration_seconds'))
  const told = [observed.events, observed.measured, trace?.parts, trace?.end, lines]
  assert.ok(!JSON.stringify(told).includes(CANARY), JSON.stringify(told))
})

test('a call that the target refuses has failed, and the event of a target that does not respond says how', async (t) => {
  const { main, observed } = await observedProxy(t, 404)
  await send(main, { method: 'POST', headers: JSON_TYPE, body: toolCall('x') })
  const gone = observing('audit', 'trace')
  const nobody = await proxied(t, 'http://127.0.0.1:9', {}, [gone.entry])
  await send(nobody.main, { method: 'POST', headers: JSON_TYPE, body: toolCall('x') })
  await eventually(() => gone.observed.traces[0]?.end !== undefined)
  assert.deepEqual(
    [...observed.events, ...gone.observed.events].map(({ status, outcome, causes }) => [
      status,
      outcome,
      causes,
    ]),
    [
      [404, 'failed', ['target_status']],
      [502, 'failed', ['target_refused']],
    ],
  )
  assert.deepEqual(targetPartsOf(gone.observed.traces[0]), ['target_refused'])
})

test('a trace with invalid headers adds none, and its request goes on', async (t) => {
  const bad: readonly unknown[] = [
    undefined,
    'traceparent',
    [['traceparent']],
    [['traceparent', 1]],
    [['trace parent', 'x']],
    [['traceparent', 'x\r\nevil: 1']],
    [['Content-Length', '0']],
    [
      ['fine', 'x'],
      ['host', 'evil.example'],
    ],
  ]
  let headers: unknown
  const trace = { traceId: TRACE_ID, sampled: true, intoMeta: true, part() {}, end() {} }
  const tracing = providing('tracing', Tracer, {
    start: () => ({ ...trace, headers: headers as OutgoingHeaders }),
  })
  const reached: string[] = []
  const target = await listening(t, (incoming, response) => {
    void text(incoming).then((body) => {
      reached.push(`${incoming.headers['traceparent']} ${incoming.headers['fine']} ${body}`)
      response.end()
    })
  })
  const { main, lines } = await proxied(t, target, {}, [tracing])
  const body = toolCall('x')
  for (headers of bad) {
    const { status } = await send(main, { method: 'POST', headers: JSON_TYPE, body })
    assert.equal(status, 200, JSON.stringify(headers))
  }
  assert.deepEqual(
    reached,
    bad.map(() => `undefined undefined ${body}`),
  )
  assert.ok(lines.some(({ msg }) => msg === 'a tracer failed'))
})
