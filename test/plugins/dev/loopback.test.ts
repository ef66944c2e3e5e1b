import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, createLog, type List, planList, serve } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { serving } from '../../kit/booted.js'
import { closedPort } from '../../kit/listening.js'

const context = { catalogue, folder: import.meta.dirname, log: createLog({ level: 'silent' }) }
const lists = (address: string): List[] => [
  [{ use: 'dev/issuer', with: { address, clientId: 'a', clientSecret: 'b' } }],
  [{ use: 'dev/mcp-server', with: { address } }],
]

test('what is for development only listens on loopback and nowhere else', async () => {
  const outside = [
    '0.0.0.0:0',
    '[::]:0',
    '10.0.0.1:0',
    'localhost:0',
    '127.0.0.1.example:0',
    'x127.0.0.1:0',
    '[::ffff:10.0.0.1]:0',
  ]
  for (const list of outside.flatMap(lists)) await assert.rejects(planList(list, context), ConfigError)
  for (const list of ['127.0.0.1:0', '127.1.2.3:9000', '[::1]:0'].flatMap(lists)) {
    await planList(list, context)
  }
})

test('a taken port stops the boot, and says which', async (t) => {
  const address = new URL(await closedPort()).host
  await serving(t, [{ use: 'dev/mcp-server', with: { address } }])

  for (const list of lists(address)) {
    await assert.rejects(serve(list, context), (error: Error) => {
      assert.ok(error instanceof ConfigError)
      return error.message.includes(address)
    })
  }
})

test('the sample server answers whoever brings its token, and tells what reached it', async (t) => {
  const address = new URL(await closedPort()).host
  await serving(t, [{ use: 'dev/mcp-server', with: { address, token: 'the-token-of-the-sample' } }])
  const call = (name: string, given: object, authorization: string) =>
    fetch(`http://${address}/mcp`, {
      method: 'POST',
      headers: {
        authorization,
        'x-caller': 'ada',
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: given },
      }),
    })
  const said = async (name: string, given: object): Promise<string> => {
    const answer: unknown = await (await call(name, given, 'Bearer the-token-of-the-sample')).json()
    return JSON.stringify(answer)
  }

  assert.equal((await call('add', { a: 1, b: 2 }, 'Bearer another')).status, 401)
  assert.match(await said('add', { a: 1.5, b: 2 }), /"text":"3\.5"/)
  assert.match(await said('roll', { dice: 2 }), /"text":"[1-6] [1-6]"/)
  assert.match(await said('whoami', {}), /You are ada\. .*Bearer the-token-of/)
})
