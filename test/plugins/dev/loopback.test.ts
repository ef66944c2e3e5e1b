import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, type List } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { createLog, planList, serve } from 'sallyport/embed'
import { serving } from '#kit/booted.js'
import { closedPort } from '#kit/listening.js'

const context = { catalogue, folder: import.meta.dirname, log: createLog({ level: 'silent' }) }

const lists = (address: string): List[] => [
  [{ use: 'dev/issuer', with: { address, clientId: 'a', clientSecret: 'b' } }],
  [{ use: 'dev/mcp-server', with: { address } }],
]

test('plugins for development listen on loopback only', async () => {
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

test('a port in use is an error at the start, with the address', async (t) => {
  const address = new URL(await closedPort()).host
  await serving(t, [{ use: 'dev/mcp-server', with: { address } }])

  for (const list of lists(address)) {
    await assert.rejects(serve(list, context), (error: Error) => {
      assert.ok(error instanceof ConfigError)
      return error.message.includes(address)
    })
  }
})
