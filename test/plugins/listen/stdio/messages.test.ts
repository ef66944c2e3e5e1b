import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import fc from 'fast-check'
import { deferred } from '#kit/deferred.js'
import { closedPort, listening } from '#kit/listening.js'
import { runs } from '#kit/runs.js'
import { ask, bridged, initialize, initialized } from './bridged.js'
import { answerTo, target } from './session-target.js'

test('an invalid message gets its error code, and the next line is read', async (t) => {
  const { url } = await target(t)
  const bridge = bridged(t, url)
  bridge.say('{', '5', '', '{"jsonrpc":"2.0","id":7}', initialize())
  await bridge.heard(0)

  const codes = bridge.lines.map((line) => JSON.parse(line)).map(({ id, error }) => [id, error?.code])
  assert.deepEqual(codes, [
    [null, -32700],
    [null, -32600],
    [7, -32600],
    [0, undefined],
  ])
})

test('with a target that is down requests fail, notifications are dropped, and nothing hangs', async (t) => {
  const bridge = bridged(t, `${await closedPort()}/mcp`)
  bridge.say(initialize(), initialized, ask('a', 'ping'))
  bridge.input.end()

  assert.equal(await bridge.ended(), 0)
  const errors = bridge.lines.map((line) => JSON.parse(line)).map(({ id, error }) => [id, error.code])
  assert.deepEqual(errors, [
    [0, -32000],
    ['a', -32000],
  ])
})

test('session and version are sent, and the end of the input deletes the session', async (t) => {
  const { url, seen } = await target(t)
  const bridge = bridged(t, url)
  bridge.say(initialize(), initialized, ask(1, 'ping'))
  bridge.input.end()

  assert.equal(await bridge.ended(), 0)
  assert.equal(bridge.lines.length, 2)
  const last = seen.at(-1)
  assert.equal(last?.method, 'DELETE')
  for (const { headers, body } of seen.filter(({ body: sent }) => !sent.includes('initialize"'))) {
    assert.equal(headers['mcp-session-id'], 's1', body)
    assert.equal(headers['mcp-protocol-version'], '2025-11-25', body)
  }
})

test('a broken response stream is resumed at its last event, after its retry time', async (t) => {
  const asked: unknown[] = []
  const url = await listening(t, (request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (request.method === 'POST') response.end('id: e1\nretry: 10\ndata:\n\n')
    else {
      asked.push(request.headers['last-event-id'])
      response.end('id: e2\r\ndata: {"jsonrpc":"2.0",\r\ndata: "id":1,"result":{}}\r\n\r\n')
    }
  })
  const bridge = bridged(t, url)
  bridge.say(ask(1, 'tools/list'))

  assert.deepEqual((await bridge.heard(1))['result'], {})
  assert.deepEqual(asked, ['e1'])
})

test('a message of 2026-07-28 has its version and name in headers, and is cancelled by closing its stream', async (t) => {
  const heads: Readonly<Record<string, unknown>>[] = []
  const { promise: left, resolve: gone } = deferred()
  const url = await listening(t, (request, response) => {
    heads.push(request.headers)
    request.resume()
    response.on('close', gone).writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"jsonrpc":"2.0","method":"notifications/progress"}\n\n')
  })
  const bridge = bridged(t, url)
  const meta = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } }
  bridge.say(ask(1, 'tools/call', { name: 'caf\u00e9', ...meta }))
  await bridge.heard('notifications/progress')
  bridge.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })

  await left
  assert.equal(heads.length, 1)
  assert.equal(heads[0]?.['mcp-protocol-version'], '2026-07-28')
  assert.equal(heads[0]?.['mcp-method'], 'tools/call')
  assert.equal(heads[0]?.['mcp-name'], '=?base64?Y2Fmw6k=?=')
})

test('50 MB pass in each direction', async (t) => {
  const url = await listening(t, (request, response) => {
    void text(request).then((body) => {
      const { pad } = JSON.parse(body).params
      response.writeHead(200, { 'content-type': 'application/json' }).end(answerTo(body, { pad }))
    })
  })
  const bridge = bridged(t, url)
  const pad = 'x'.repeat(50_000_000)
  bridge.say(ask(1, 'tools/call', { name: 'x', pad }))
  bridge.input.end()

  assert.equal(await bridge.ended(), 0)
  assert.ok(JSON.parse(bridge.lines[0] ?? '').result.pad === pad)
})

test('an event stream is parsed the same however it is split, and with any line ends', async (t) => {
  const answers = new Map<unknown, readonly string[]>()
  const url = await listening(t, (request, response) => {
    void text(request).then(async (body) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const piece of answers.get(JSON.parse(body).id) ?? []) {
        await new Promise((resolve) => response.write(piece, resolve))
      }
      response.end()
    })
  })
  const bridge = bridged(t, url)
  let id = 0
  const ends = fc.constantFrom('\n', '\r\n', '\r')
  const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 })
  const property = fc.asyncProperty(
    fc.json(),
    ends,
    cuts,
    fc.boolean(),
    async (value, end, sizes, comment) => {
      const mine = ++id
      const result = JSON.parse(`{"value":${value}}`)
      const json = JSON.stringify({ jsonrpc: '2.0', id: mine, result }, null, 1)
      const data = json.split('\n').map((line) => `data: ${line}`)
      const whole = [...(comment ? [': hello', 'event: message'] : []), ...data, '', ''].join(end)
      const pieces: string[] = []
      for (let at = 0, turn = 0; at < whole.length; turn++) {
        const size = sizes[turn % sizes.length] ?? 1
        pieces.push(whole.slice(at, at + size))
        at += size
      }
      answers.set(mine, pieces)
      bridge.say(ask(mine, 'tools/list'))
      assert.deepEqual((await bridge.heard(mine))['result'], result)
    },
  )
  await fc.assert(property, { numRuns: runs(60) })
})

test('SIGTERM does not wait for a response that does not come', async (t) => {
  const asked = new EventEmitter()
  const url = await listening(t, (request) => void request.resume().on('end', () => asked.emit('asked')))
  const bridge = bridged(t, url)
  const waiting = once(asked, 'asked')
  bridge.say(ask(1, 'tools/call', { name: 'x' }))
  await waiting

  const before = Date.now()
  bridge.stop()
  assert.equal(await bridge.ended(), 0)
  assert.ok(Date.now() - before < 8_000)
})

test('SIGTERM deletes the session and ends the process', async (t) => {
  const { url, seen } = await target(t)
  const bridge = bridged(t, url)
  bridge.say(initialize(), initialized)
  await bridge.heard(0)

  bridge.stop()
  assert.equal(await bridge.ended(), 0)
  assert.equal(seen.at(-1)?.method, 'DELETE')
})

test('a 401 names the flags for credentials, with a JSON-RPC error in its body and without', async (t) => {
  const error = { code: -32_001, message: 'Unauthorized', data: { realm: 'notes' } }
  const url = await listening(t, (request, response) => {
    void text(request).then((body) => {
      const isExplained = JSON.parse(body).id === 1
      response.writeHead(401, { 'content-type': 'application/json' })
      response.end(isExplained ? JSON.stringify({ jsonrpc: '2.0', id: null, error }) : '')
    })
  })
  const bridge = bridged(t, url)
  bridge.say(initialize('2025-11-25', 1), initialize('2025-11-25', 2))
  const [explained, empty] = [await bridge.heard(1), await bridge.heard(2)].map((each) =>
    Object(each['error']),
  )

  assert.deepEqual([explained.code, explained.data, empty.code], [-32_001, { realm: 'notes' }, -32_000])
  assert.match(explained.message, /^Unauthorized; .*--remote-auth-bearer-token-file/)
  assert.match(empty.message, /--remote-auth-bearer-token-file/)
})
