import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boot } from 'sallyport/embed'
import { booted, contextFor, recordedLog } from '#kit/booted.js'
import { closed, plugin } from '#kit/plugin.js'

const context = contextFor({})

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
