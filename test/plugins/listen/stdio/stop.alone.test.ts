import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { listening } from '#kit/listening.js'
import { ask, bridged, initialize, initialized } from './bridged.js'
import { answerTo } from './session-target.js'

test('a bridge that is asked to stop ends before its client kills it, though the target hangs', async (t) => {
  const hanging = new EventEmitter()
  const url = await listening(t, (request, response) => {
    void text(request).then((body) => {
      if (!body.includes('"initialize"')) return void hanging.emit('asked')
      const result = {
        protocolVersion: '2025-11-25',
        capabilities: {},
        serverInfo: { name: 's', version: '1' },
      }
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' })
      response.end(answerTo(body, result))
    })
  })
  const bridge = bridged(t, url)
  bridge.say(initialize())
  await bridge.heard(0)
  const asked = once(hanging, 'asked')
  bridge.say(initialized, ask(1, 'tools/list'))
  await asked

  const before = Date.now()
  bridge.process.kill('SIGTERM')
  assert.equal(await bridge.ended(), 0)
  // Milliseconds that the official client gives it.
  assert.ok(Date.now() - before < 2_000, `${Date.now() - before} ms`)
})
