import assert from 'node:assert/strict'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { listen } from '#kit/plugin.js'
import { ask, bridged, bridgedBy, initialize } from './bridged.js'

const MOST = 100_000

test('T16 an event of many small lines may not exceed the size of a message', async (t) => {
  const origin = await listening(t, (request, response) => {
    void text(request).then((body) => {
      const { id, params } = JSON.parse(body)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: 1\n'.repeat(params.lines))
      response.end(
        `\ndata: {"jsonrpc":"2.0",\ndata: "id":${id},\ndata: "result":{}${'\ndata: '.repeat(2_000)}}\n\n`,
      )
    })
  })
  const home = folder(t, {
    'gateway.yaml': `plugins:
  - { use: listen/http, with: { address: '127.0.0.1:0' } }
  - use: auth/anonymous
  - { use: forward/http, with: { target: '${origin}' } }
  - { use: listen/stdio, with: { target: '${origin}/mcp', maxMessage: ${MOST} } }
`,
  })
  const bridge = bridgedBy(t, join(home, 'gateway.yaml'))

  for (const [index, lines] of [MOST / 4, MOST / 2 + 1].entries()) {
    bridge.say(ask(index, 'tools/call', { lines }))
    assert.deepEqual((await bridge.heard(index))['result'], {})
  }
  const problems = bridge.log().match(/longer than allowed|something that is not a message/g)
  assert.deepEqual(problems, ['something that is not a message', 'longer than allowed'])
})

test('a version that no header can carry is left out of the following requests', async (t) => {
  const versions: unknown[] = []
  const origin = await listening(t, (request, response) => {
    versions.push(request.headers['mcp-protocol-version'])
    void text(request).then((body) => {
      const { id, method } = JSON.parse(body)
      const result = method === 'initialize' ? { protocolVersion: '2025\r\nX: y', capabilities: {} } : {}
      const answer = JSON.stringify({ jsonrpc: '2.0', id, result })
      response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
    })
  })
  const bridge = bridged(t, `${origin}/mcp`)
  bridge.say(initialize())
  await bridge.heard(0)
  bridge.say(ask(1, 'ping'))
  assert.deepEqual((await bridge.heard(1))['result'], {})
  assert.deepEqual(versions, [undefined, undefined])
})

test('a client that is gone leaves no bridge running, whatever it waited for', async (t) => {
  const url = await listening(t, (request) => void request.resume())
  const list = [
    listen,
    { use: 'auth/anonymous' },
    { use: 'forward/http', with: { target: url } },
    { use: 'listen/stdio', with: { target: `${url}/mcp`, drainLimit: 300 } },
  ]
  const home = folder(t, { 'gateway.yaml': JSON.stringify({ plugins: list }) })
  for (const message of [initialize(), ask(1, 'ping')]) {
    const bridge = bridgedBy(t, join(home, 'gateway.yaml'))
    bridge.say(message)
    bridge.input.end()
    assert.equal(await bridge.ended(), 0)
  }
})
