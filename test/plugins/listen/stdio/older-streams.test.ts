import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { listening } from '#kit/listening.js'
import { ask, bridged, initialize, initialized } from './bridged.js'

const INITIALIZED = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  serverInfo: { name: 's', version: '1' },
}

const stream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' })

const JSON_TYPE = { 'content-type': 'application/json' }

const refusalOf = ({ id }: { readonly id: unknown }) => ({
  jsonrpc: '2.0',
  id,
  error: { code: -32_000, message: 'you may not use this tool', data: { error: 'policy_denied' } },
})

/** A target of 2024-11-05. Its streams can be broken; requests with the method `hang` get no response, `refuse` is refused. */
async function older(t: TestContext, endpoint: (origin: string) => string = () => '/post?s=1') {
  const posted: string[] = []
  const open: ServerResponse[] = []
  let isDown = false
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
    const { method, url } = request
    if (isDown) return response.writeHead(503).end()
    if (method === 'GET' && url === '/sse') {
      open.push(stream(response))
      return response.write(`event: endpoint\ndata: ${endpoint(origin)}\n\n`)
    }
    if (method !== 'POST' || url !== '/post?s=1') return response.writeHead(405).end()
    const message = JSON.parse(await text(request))
    posted.push(message.method)
    if (message.method === 'refuse')
      return response.writeHead(403, JSON_TYPE).end(JSON.stringify(refusalOf(message)))
    response.writeHead(202).end('Accepted')
    const result = message.method === 'initialize' ? INITIALIZED : {}
    const data = JSON.stringify({ jsonrpc: '2.0', id: message.id, result })
    if (message.id === undefined || message.method === 'hang') return undefined
    return open.at(-1)?.write(`event: message\ndata: ${data}\n\n`)
  }
  const origin: string = await listening(t, (request, response) => void answer(request, response))
  const down = (value: boolean): void => {
    isDown = value
  }
  return { url: `${origin}/sse`, posted, cut: () => open.at(-1)?.destroy(), down }
}

test('the older transport: a broken stream is an error for open requests, and is opened again for the next', async (t) => {
  const { url, posted, cut } = await older(t)
  const bridge = bridged(t, url)
  bridge.say(initialize(), initialized, ask(1, 'ping'), ask(2, 'hang'))
  await bridge.heard(1)
  await eventually(() => (posted.includes('hang') ? true : undefined))

  cut()
  assert.ok((await bridge.heard(2))['error'] !== undefined)
  bridge.say(ask(3, 'ping'))
  assert.ok((await bridge.heard(3))['result'] !== undefined)
  assert.deepEqual(posted, [
    'initialize',
    'notifications/initialized',
    'ping',
    'hang',
    'initialize',
    'notifications/initialized',
    'ping',
  ])
  // Four responses, and none of the bridge's own requests.
  assert.equal(bridge.lines.length, 4)
})

test('the older transport: the client gets the text of a refusal', async (t) => {
  const { url } = await older(t)
  const bridge = bridged(t, url)
  bridge.say(initialize(), initialized, ask(1, 'refuse'))

  assert.deepEqual(await bridge.heard(1), refusalOf({ id: 1 }))
})

test('the older transport: many calls at once cause no warning', async (t) => {
  const { url, posted } = await older(t)
  const bridge = bridged(t, url)
  bridge.say(initialize(), initialized, ...Array.from({ length: 20 }, (_, id) => ask(`call ${id}`, 'hang')))
  await eventually(() => (posted.length === 22 ? true : undefined))

  bridge.say(ask('last', 'ping'))
  await bridge.heard('last')
  assert.doesNotMatch(bridge.log(), /Warning/)
})

test('the older transport: a message that comes while the target is down does not end the session', async (t) => {
  const { url, cut, down } = await older(t)
  const bridge = bridged(t, url)
  bridge.say(initialize(), initialized, ask(1, 'hang'))
  await bridge.heard(0)

  down(true)
  cut()
  await bridge.heard(1)
  bridge.say(ask(2, 'ping'))
  assert.ok((await bridge.heard(2))['error'] !== undefined)
  down(false)
  bridge.say(ask(3, 'ping'))
  assert.ok((await bridge.heard(3))['result'] !== undefined)
})

test('the older transport: nothing is sent to an endpoint of another origin', async (t) => {
  let asked = 0
  const elsewhere = await listening(t, (_request, response) => {
    asked++
    response.end()
  })
  const { url } = await older(t, () => `${elsewhere}/post`)
  const bridge = bridged(t, url, ['--remote-auth-bearer-token', 'secret'])
  bridge.say(initialize())

  assert.ok((await bridge.heard(0))['error'] !== undefined)
  assert.equal(asked, 0)
})
