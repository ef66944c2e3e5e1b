import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { listening } from '#kit/listening.js'
import { ask, bridged, initialize, initialized } from './bridged.js'

type Answering = (response: ServerResponse, request: IncomingMessage, count: number) => void

interface Opened {
  readonly at: number
  readonly headers: IncomingMessage['headers']
}

const INITIALIZED = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  serverInfo: { name: 's', version: '1' },
}

/** A target with sessions, which the test can drop, and whose stream of messages the test handles. */
async function target(t: TestContext, onStream: Answering) {
  const streams: Opened[] = []
  let session = 1
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
    const { method, headers } = request
    if (method === 'GET') {
      streams.push({ at: performance.now(), headers })
      return onStream(response, request, streams.length)
    }
    const body = await text(request)
    if (method === 'DELETE') return response.end()
    const message = JSON.parse(body)
    const isFirst = message.method === 'initialize'
    if (!isFirst && headers['mcp-session-id'] !== `s${session}`) return response.writeHead(404).end()
    if (message.id === undefined) return response.writeHead(202).end()
    const result = isFirst ? INITIALIZED : {}
    response.setHeader('mcp-session-id', `s${session}`)
    return response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }))
  }
  const origin = await listening(t, (request, response) => void answer(request, response))
  return { url: `${origin}/mcp`, streams, forget: () => session++ }
}

const stream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' })

const notification = (data: string) => JSON.stringify({ jsonrpc: '2.0', method: `notifications/${data}` })

const nth = (streams: readonly Opened[], count: number): Promise<Opened> =>
  eventually(() => streams[count - 1])

test('the stream for the target’s own messages is resumed at its last event, after its retry time', async (t) => {
  const RETRY = 2_000
  let ended = 0
  const { url, streams } = await target(t, (response, _request, count) => {
    if (count > 1) {
      stream(response).write(`data: ${notification('second')}\n\n`)
      return
    }
    stream(response).end(`retry: ${RETRY}\nid: e1\ndata: ${notification('first')}\n\n`)
    ended = performance.now()
  })
  const bridge = bridged(t, url)
  bridge.say(initialize(), initialized)

  await bridge.heard('notifications/first')
  await bridge.heard('notifications/second')
  const { at, headers } = await nth(streams, 2)
  assert.equal(headers['last-event-id'], 'e1')
  assert.equal(headers['mcp-session-id'], 's1')
  assert.equal(streams[0]?.headers['last-event-id'], undefined)
  // By default the bridge would reconnect earlier.
  assert.ok(at - ended >= RETRY - 10, `${at - ended} ms`)
})

test('a stream that breaks off inside an event is resumed before it', async (t) => {
  const { url, streams } = await target(t, (response, _request, count) => {
    if (count > 1) stream(response).write(`id: e2\ndata: ${notification('second')}\n\n`)
    else {
      const begun = `retry: 10\nid: e1\ndata: ${notification('first')}\n\nid: e2\nevent: other\ndata: {}\ndata: {"j`
      stream(response).write(begun, () => response.destroy())
    }
  })
  const bridge = bridged(t, url)
  bridge.say(initialize(), initialized)

  await bridge.heard('notifications/first')
  await bridge.heard('notifications/second')
  assert.equal((await nth(streams, 2)).headers['last-event-id'], 'e1')
})

test('a stream is opened again although the target still holds the last one', async (t) => {
  const { url, streams } = await target(t, (response, _request, count) => {
    if (count === 1) stream(response).end('retry: 10\n\n')
    else if (count === 2) response.writeHead(409).end()
    else stream(response).write(`data: ${notification('third')}\n\n`)
  })
  const bridge = bridged(t, url)
  bridge.say(initialize(), initialized)

  await bridge.heard('notifications/third')
  assert.equal(streams.length, 3)
})

test('a client that waits for messages gets them also after the session was lost', async (t) => {
  let session = 's1'
  const { url, streams, forget } = await target(t, (response, { headers }) => {
    if (headers['mcp-session-id'] !== session) response.writeHead(404).end()
    else if (session === 's2') stream(response).write(`data: ${notification('second')}\n\n`)
    else {
      session = 's2'
      forget()
      stream(response).end(`retry: 10\ndata: ${notification('first')}\n\n`)
    }
  })
  const bridge = bridged(t, url)
  bridge.say(initialize(), initialized)

  await bridge.heard('notifications/second')
  assert.deepEqual(
    streams.map(({ headers }) => headers['mcp-session-id']),
    ['s1', 's1', 's2'],
  )
  assert.equal(bridge.lines.length, 3)
})

test('a target that responds to streams with 404 gets no new session for that', async (t) => {
  const { url, streams } = await target(t, (response) => response.writeHead(404).end())
  const bridge = bridged(t, url)
  bridge.say(initialize(), initialized)
  await nth(streams, 1)

  bridge.say(ask(1, 'ping'))
  assert.ok((await bridge.heard(1))['result'] !== undefined)
  assert.equal(streams.length, 1)
})

test('the stream of a lost session is closed, though the target leaves it open', async (t) => {
  const open: ServerResponse[] = []
  const { url, streams, forget } = await target(t, (response, _request, count) => {
    open.push(stream(response))
    response.on('close', () => open.splice(open.indexOf(response), 1))
    response.write(`data: ${notification(String(count))}\n\n`)
  })
  const bridge = bridged(t, url)
  bridge.say(initialize(), initialized)
  await bridge.heard('notifications/1')

  forget()
  bridge.say(ask(1, 'ping'))
  await bridge.heard('notifications/2')
  await eventually(() => (open.length === 1 ? true : undefined))
  assert.equal((await nth(streams, 2)).headers['mcp-session-id'], 's2')
})

test('a stream that the target closes is opened again with exponential backoff', async (t) => {
  const { url, streams } = await target(t, (response) => response.writeHead(503).end())
  const bridge = bridged(t, url)
  bridge.say(initialize(), initialized)

  const opened = [await nth(streams, 1), await nth(streams, 2), await nth(streams, 3)].map(({ at }) => at)
  const [first = 0, second = 0, third = 0] = opened
  assert.ok(second - first >= 740, `${second - first} ms`)
  assert.ok(third - second >= 1_490, `${third - second} ms`)
  bridge.say(ask(1, 'ping'))
  assert.ok((await bridge.heard(1))['result'] !== undefined)
})

test('a stream that the target does not offer is requested once in each session', async (t) => {
  const { url, streams, forget } = await target(t, (response) => response.writeHead(405).end())
  const bridge = bridged(t, url)
  bridge.say(initialize(), initialized)
  await nth(streams, 1)

  forget()
  bridge.say(ask(1, 'ping'))
  assert.ok((await bridge.heard(1))['result'] !== undefined)
  await nth(streams, 2)
  bridge.say(ask(2, 'ping'))
  await bridge.heard(2)
  assert.deepEqual(
    streams.map(({ headers }) => headers['mcp-session-id']),
    ['s1', 's2'],
  )
})
