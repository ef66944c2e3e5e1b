import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { listening } from '#kit/listening.js'
import { ask, bridged, initialize, initialized } from './bridged.js'
import { answerTo } from './session-target.js'

const CALLS = 20

/** A target that never ends a stream, whose sessions the test can drop. */
async function unending(t: TestContext) {
  let session = 1
  let open = 0
  const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } }
  const url = await listening(t, (request, response) => {
    void text(request).then((body) => {
      if (request.method !== 'POST') return response.writeHead(405).end()
      const { id, method } = JSON.parse(body)
      const isOther = method !== 'initialize' && request.headers['mcp-session-id'] !== `s${session}`
      if (isOther || id === undefined) return response.writeHead(isOther ? 404 : 202).end()
      open++
      response.on('close', () => open--)
      response.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-session-id': `s${session}` })
      return response.write(`data: ${answerTo(body, result)}\n\n`)
    })
  })
  return { url: `${url}/mcp`, open: () => open, forget: () => session++ }
}

test('a target that does not end its streams delays no message, and holds no connection for each', async (t) => {
  const { url, open, forget } = await unending(t)
  const bridge = bridged(t, url)
  bridge.say(initialize(), initialized)
  for (let id = 1; id <= CALLS; id++) bridge.say(ask(id, 'ping'))
  for (let id = 0; id <= CALLS; id++) assert.ok((await bridge.heard(id))['result'] !== undefined)
  await eventually(() => (open() === 0 ? true : undefined))

  forget()
  bridge.say(ask('next', 'ping'))
  assert.ok((await bridge.heard('next'))['result'] !== undefined)
})

test('a target may send a request before it answers initialize', async (t) => {
  const seen: unknown[] = []
  let answer = (): void => {}
  const url = await listening(t, (request, response) => {
    void text(request).then((body) => {
      const { id, method } = JSON.parse(body)
      seen.push(method ?? id)
      if (method === 'initialize') {
        answer = () => void response.end(`data: ${answerTo(body)}\n\n`)
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write('data: {"jsonrpc":"2.0","id":"asked","method":"ping"}\n\n')
      } else response.writeHead(202).end(answer)
    })
  })
  const bridge = bridged(t, url)
  bridge.say(initialize())
  await bridge.heard('ping')
  bridge.say({ jsonrpc: '2.0', id: 'asked', result: {} }, ask(1, 'later'))
  assert.deepEqual((await bridge.heard(0))['result'], {})
  await eventually(() => (seen.length === 3 ? true : undefined))
  assert.deepEqual(seen, ['initialize', 'asked', 'later'])
})
