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

test('a target that does not end its streams holds up no message, and no connection for each', async (t) => {
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
