import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { listening } from '#kit/listening.js'
import { ask, initialize, initialized, startedBridge } from './bridged.js'
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
  const bridge = startedBridge(t, url)
  bridge.say(initialize())
  await bridge.heard(0)
  const asked = once(hanging, 'asked')
  bridge.say(initialized, ask(1, 'tools/list'))
  await asked

  const before = Date.now()
  bridge.process.kill('SIGTERM')
  assert.equal(await bridge.ended(), 0)
  // Milliseconds that the official client waits.
  assert.ok(Date.now() - before < 2_000, `${Date.now() - before} ms`)
})

test('a bridge whose client no longer reads still stops, and ends the session', async (t) => {
  const large = 'x'.repeat(4 * 1024 ** 2)
  const deleted = new EventEmitter()
  const url = await listening(t, (request, response) => {
    if (request.method === 'DELETE') deleted.emit('deleted')
    void text(request).then((body) => {
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' })
      response.end(body.includes('"id"') ? answerTo(body, { large }) : '')
    })
  })
  const bridge = startedBridge(t, url)
  bridge.say(initialize())
  await bridge.heard(0)
  bridge.stdout.pause()
  bridge.process.once('exit', () => bridge.stdout.resume())
  bridge.say(...Array.from({ length: 20 }, (_, id) => ask(id + 1, 'tools/call')))
  await eventually(() => bridge.stdout.readableLength > 0 || undefined)

  const ended = once(deleted, 'deleted', { signal: AbortSignal.timeout(10_000) })
  const before = Date.now()
  bridge.process.kill('SIGTERM')
  const exit = once(bridge.process, 'exit')
  await ended
  assert.deepEqual(await exit, [0, null])
  // Milliseconds that the SDK for Go waits.
  assert.ok(Date.now() - before < 5_000, `${Date.now() - before} ms`)
  assert.doesNotMatch(bridge.log(), /MaxListeners/)
})
