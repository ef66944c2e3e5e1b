import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePlugin, type Gateway } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { boot } from 'sallyport/embed'
import { booted, recordedLog } from '#kit/booted.js'

const context = { catalogue, folder: import.meta.dirname, log: recordedLog().log }

const plugin = (name: string, setup: (gateway: Gateway) => unknown, more: object = {}) => ({
  use: definePlugin({ name, api: 1, setup: async (gateway) => void (await setup(gateway)), ...more }),
})

const closed = plugin('closed', ({ http }) => http.get('/', () => 'let in'))

test('a plugin cannot replace the error handler', async (t) => {
  const taking = plugin('taking', ({ http }) =>
    http.setErrorHandler((_error, _request, reply) => reply.code(200).send('in')),
  )
  await assert.rejects(boot([taking, closed], context), /plugin "taking" failed in setup/)

  const { log, lines } = recordedLog()
  const within = plugin('within', ({ http }) =>
    http.register(async (own) => {
      own.setErrorHandler((_error, _request, reply) => reply.code(200).send('in'))
      own.get('/', () => 'let in')
    }),
  )
  const app = await booted(t, [within], { log })
  assert.equal((await app.inject('/')).statusCode, 401)
  assert.equal(lines.filter(({ msg }) => msg === 'refused').length, 1)
})
