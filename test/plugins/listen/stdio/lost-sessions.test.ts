import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, bridged, initialize, initialized } from './bridged.js'
import { target } from './session-target.js'

test('a lost session is replaced silently, when the new one has the same version and capabilities', async (t) => {
  const { url, seen, forget } = await target(t)
  const bridge = bridged(t, url)
  bridge.say(initialize(), initialized, ask(1, 'logging/setLevel', { level: 'info' }))
  await bridge.heard(1)

  forget()
  bridge.say(ask(2, 'tools/list'))
  const answer = await bridge.heard(2)
  assert.ok(answer['result'] !== undefined)
  assert.equal(bridge.lines.length, 3)
  const methods = seen.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body).method)
  assert.deepEqual(methods.slice(-5), [
    'tools/list',
    'initialize',
    'notifications/initialized',
    'logging/setLevel',
    'tools/list',
  ])
})

test('a session that a server of the official SDK has forgotten is replaced too', async (t) => {
  // The texts of the SDK's examples, in TypeScript and in Python.
  const message = 'Bad Request: No valid session ID provided'
  for (const body of [JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message } }), message]) {
    const { url, forget } = await target(t, undefined, undefined, (response) => {
      response.writeHead(400, { 'content-type': 'application/json' }).end(body)
    })
    const bridge = bridged(t, url)
    bridge.say(initialize(), initialized, ask(1, 'ping'))
    await bridge.heard(1)

    forget()
    bridge.say(ask(2, 'ping'))
    assert.ok((await bridge.heard(2))['result'] !== undefined)
  }
})

test('a lost session is an error when the new one differs', async (t) => {
  let tools = false
  const { url, forget } = await target(t, () => (tools ? { tools: {} } : {}))
  const bridge = bridged(t, url)
  bridge.say(initialize(), initialized)
  await bridge.heard(0)

  forget()
  tools = true
  bridge.say(ask(2, 'ping'), ask(3, 'ping'))
  assert.ok((await bridge.heard(2))['error'] !== undefined)
  assert.ok((await bridge.heard(3))['error'] !== undefined)
})

test('a new session does not repeat what the target had refused', async (t) => {
  const { url, forget } = await target(t, undefined, (method) =>
    ['logging/setLevel', 'resources/subscribe'].includes(method)
      ? { code: -32_601, message: 'Method not found' }
      : undefined,
  )
  const bridge = bridged(t, url)
  bridge.say(initialize(), initialized, ask(1, 'logging/setLevel', { level: 'info' }))
  assert.ok((await bridge.heard(1))['error'] !== undefined)

  forget()
  bridge.say(ask(2, 'resources/subscribe', { uri: 'a:b' }), ask(3, 'ping'))
  assert.deepEqual((await bridge.heard(2))['error'], { code: -32_601, message: 'Method not found' })
  assert.ok((await bridge.heard(3))['result'] !== undefined)
})

test('while no new session can begin, messages fail, and each next message tries again', async (t) => {
  let isStarting = false
  const { url, forget } = await target(t, undefined, (method) =>
    isStarting && method === 'initialize' ? 503 : undefined,
  )
  const bridge = bridged(t, url)
  bridge.say(initialize(), initialized)
  await bridge.heard(0)

  forget()
  isStarting = true
  bridge.say(ask(1, 'ping'), ask(2, 'ping'))
  assert.ok((await bridge.heard(1))['error'] !== undefined)
  assert.ok((await bridge.heard(2))['error'] !== undefined)

  isStarting = false
  bridge.say(ask(3, 'ping'), ask(4, 'ping'))
  assert.ok((await bridge.heard(3))['result'] !== undefined)
  assert.ok((await bridge.heard(4))['result'] !== undefined)
})
