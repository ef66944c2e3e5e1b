import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { recordedLog } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { Call } from '#plugins/listen/stdio/call.js'
import { HttpLink } from '#plugins/listen/stdio/http-link.js'
import { LegacySse } from '#plugins/listen/stdio/legacy-sse.js'
import { type Message, readMessage } from '#plugins/listen/stdio/messages.js'

test('the older transport: calls that are over leave no listener on the signal of the conversation', async (t) => {
  let events: ServerResponse | undefined
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method === 'GET') {
      events = response.writeHead(200, { 'content-type': 'text/event-stream' })
      events.write('event: endpoint\ndata: /post\n\n')
      return
    }
    const { id } = JSON.parse(await text(request))
    response.writeHead(202).end()
    events?.write(`event: message\ndata: {"jsonrpc":"2.0","id":${id},"result":{}}\n\n`)
  }
  const origin = await listening(t, (request, response) => void serve(request, response))
  const ending = new AbortController()
  t.after(() => ending.abort())
  const open = new Map<string, Call>()
  const unexpected = () => assert.fail('the target answers')
  const transport = new LegacySse(
    new HttpLink(() => connect(Number(new URL(origin).port), '127.0.0.1'), new URL(origin)),
    new URL(origin),
    {
      log: recordedLog().log,
      ending: ending.signal,
      maxMessage: 1024,
      receive: async ({ responseIds: [id = ''] }: Message) => open.get(id)?.markAnswered(id),
      fail: unexpected,
      request: unexpected,
      renewSession: unexpected,
      fallBackToLegacy: unexpected,
    },
  )
  assert.equal(await transport.connect(), true)
  const before = getEventListeners(ending.signal, 'abort').length

  for (let id = 1; id <= 20; id++) {
    const call = new Call(readMessage(Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`)) as Message)
    open.set(String(id), call)
    await transport.send(call).done
  }
  assert.equal(getEventListeners(ending.signal, 'abort').length, before)
})
