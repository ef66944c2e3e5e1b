import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ObservedBody } from '#core/observe/observed-body.js'
import { booted } from '#kit/booted.js'
import { mcpPlugin } from '#kit/plugin.js'

const call = (name: string) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } })

/** The state of a request's body right after it was taken. */
async function taken(t: TestContext, method: 'POST' | 'DELETE', payload: string) {
  let found: { body: ObservedBody; hasMore: boolean } | undefined
  const taking = mcpPlugin('taking', ({ http }) => {
    http.route({
      method,
      url: '/mcp',
      config: { mcp: true, public: true },
      async onRequest(request, reply) {
        const body = new ObservedBody(request)
        found = { body, hasMore: body.take(await request.wholeBody()) }
        return reply.send()
      },
      handler: (_request, reply) => reply,
    })
  })
  const app = await booted(t, [{ use: 'auth/anonymous' }, taking])
  await app.inject({ method, url: '/mcp', headers: { 'content-type': 'application/json' }, payload })
  assert.ok(found)
  return found
}

test('a body is parsed at the first read of its message, and then freed', async (t) => {
  const { body, hasMore } = await taken(t, 'POST', JSON.stringify(call('a')))
  assert.deepEqual([hasMore, body.isSmall], [true, true])
  assert.equal(body.message?.calls[0]?.subjects[0]?.name, 'a')
  assert.deepEqual([body.unparsed, body.unreadable], [undefined, undefined])
})

test('a body that cannot be read has a cause', async (t) => {
  const { body } = await taken(t, 'POST', '{')
  assert.equal(body.unreadable, 'message_not_json')
  assert.equal(body.message, undefined)
})

test('a large body is not kept until the end, and a very large one, or one that is no POST, is not parsed', async (t) => {
  const large = await taken(t, 'POST', JSON.stringify(call('a'.repeat(16 * 1024))))
  assert.deepEqual([large.hasMore, large.body.isSmall], [true, false])
  const huge = await taken(t, 'POST', JSON.stringify(call('a'.repeat(1024 * 1024))))
  const other = await taken(t, 'DELETE', JSON.stringify(call('a')))
  for (const { body, hasMore } of [huge, other])
    assert.deepEqual([hasMore, body.message, body.unreadable], [false, undefined, 'body_not_read'])
})
