import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { ask, bridgedBy } from './bridged.js'

const MOST = 4
// More than the buffers of sockets hold.
const LARGE = 12_000_000

interface OutgoingCredential {
  readonly ids: readonly number[]
  readonly response: ServerResponse
}

/** A bridge for `most` open requests, with a target that responds when the test says so. */
async function bridgeWithLimit(t: TestContext, most: number, maxMessage = 2 ** 20) {
  const held: OutgoingCredential[] = []
  const told: number[] = []
  const reader = new EventTarget()
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (Number(request.headers['content-length']) > LARGE) await once(reader, 'reads')
    void text(request).then((body) => {
      const messages = [JSON.parse(body)].flat()
      const ids = messages.filter(({ id, method }) => id !== undefined && method).map(({ id }) => id)
      if (ids.length > 0) held.push({ ids, response })
      else {
        told.push(messages[0].params.requestId)
        response.writeHead(202).end()
      }
    })
  }
  const origin = await listening(t, (request, response) => void answer(request, response))
  const home = folder(t, {
    'gateway.yaml': `plugins:
  - { use: listen/http, with: { address: '127.0.0.1:0' } }
  - use: auth/anonymous
  - { use: forward/http, with: { target: '${origin}' } }
  - { use: listen/stdio, with: { target: '${origin}/mcp', maxOpen: ${most}, maxMessage: ${maxMessage} } }
`,
  })
  const bridge = bridgedBy(t, join(home, 'gateway.yaml'))
  return { bridge, held, told, readLarge: () => reader.dispatchEvent(new Event('reads')) }
}

const cancel = (requestId: number) => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId },
})

const result = (id: number) => ({ jsonrpc: '2.0', id, result: {} })

type Step =
  | { readonly do: 'ask'; readonly count: number }
  | { readonly do: 'answer' | 'fail' | 'cancel'; readonly at: number }

const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('ask' as const), count: fc.integer({ min: 1, max: MOST + 1 }) }),
    fc.record({ do: fc.constantFrom('answer', 'fail', 'cancel'), at: fc.nat(MOST) }),
  ),
  { minLength: 1, maxLength: 12 },
) satisfies fc.Arbitrary<Step[]>

test('a request is open until its response, cancellation or failure; requests beyond the limit fail at once', async (t) => {
  const { bridge, held, told } = await bridgeWithLimit(t, MOST)
  let next = 0
  const open = new Set<number>()
  const errorOf = async (id: number) => Reflect.get(Object((await bridge.heard(id))['error']), 'code')

  const perform = async (step: Step): Promise<void> => {
    if (step.do === 'ask') {
      const ids = Array.from({ length: step.count }, () => next++)
      const asks = ids.map((id) => ask(id, 'tools/call'))
      const fits = open.size + ids.length <= MOST
      bridge.say(asks.length === 1 ? (asks[0] ?? {}) : asks)
      if (!fits) for (const id of ids) assert.equal(await errorOf(id), -32_000)
      else {
        await eventually(() => held.find((each) => each.ids.includes(ids[0] ?? -1)))
        for (const id of ids) open.add(id)
      }
      return
    }
    const id = [...open][step.at % Math.max(1, open.size)]
    const at = held.findIndex(({ ids }) => id !== undefined && ids.includes(id))
    const call = held[at]
    if (id === undefined || call === undefined) return
    if (step.do === 'cancel') {
      bridge.say(cancel(id))
      await eventually(() => told.includes(id))
      open.delete(id)
      return
    }
    held.splice(at, 1)
    const { ids, response } = call
    if (step.do === 'fail') response.writeHead(500).end()
    else {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(ids.length === 1 ? result(id) : ids.map(result)))
    }
    const waited = ids.filter((each) => open.delete(each))
    if (step.do === 'fail') for (const each of waited) assert.equal(await errorOf(each), -32_000)
    else await eventually(() => bridge.lines.some((line) => line.includes(`"id":${id},`)))
  }

  await fc.assert(
    fc.asyncProperty(steps, async (list) => {
      for (const step of list) await perform(step)
      while (open.size > 0) await perform({ do: 'answer', at: 0 })
      // After all responses, exactly `MOST` requests fit again.
      await perform({ do: 'ask', count: MOST })
      await perform({ do: 'ask', count: 1 })
      while (open.size > 0) await perform({ do: 'cancel', at: 0 })
    }),
    { numRuns: 15 },
  )
})

test('open requests may have the bytes of one message, besides the last', async (t) => {
  const { bridge, held } = await bridgeWithLimit(t, 10, 50_000)
  const large = (id: number) => ask(id, 'tools/call', { name: 'x'.repeat(30_000) })
  bridge.say(large(1), large(2), large(3))
  await eventually(() => held[1])
  assert.equal(Object(await bridge.heard(3))['error'].code, -32_000)

  for (const { ids, response } of held) {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(result(ids[0] ?? 0)))
  }
  await bridge.heard(1)
  await bridge.heard(2)
  bridge.say(large(4))
  await eventually(() => held[2])
})

test('cancelling one request leaves the others of its batch open', async (t) => {
  const { bridge, held, told, readLarge } = await bridgeWithLimit(t, MOST, 2 ** 24)
  bridge.say([ask(1, 'tools/call', { name: 'x'.repeat(LARGE) }), ask(2, 'tools/call')], cancel(1))
  await eventually(() => told.includes(1))
  readLarge()
  const { response } = await eventually(() => held[0])
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify([result(2)]))
  await eventually(() => bridge.lines.some((line) => line.includes('"id":2,"result"')))
})
