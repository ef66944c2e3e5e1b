import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDispatched } from '#core/http/dispatched-request.js'
import { booted } from '#kit/booted.js'
import { plugin } from '#kit/plugin.js'

test('a dispatched request is distinguished from a request of a client', async (t) => {
  const asking = plugin('asking', (gateway) => {
    const config = { public: true }
    gateway.http.get('/inner', { config }, (request) => [isDispatched(request)])
    gateway.http.get('/outer', { config }, async (request) => [
      isDispatched(request),
      ...(await gateway.dispatch('/inner')).json(),
      ...(await gateway.dispatch({ url: '/inner' })).json(),
    ])
  })
  const app = await booted(t, [asking])
  assert.deepEqual((await app.inject('/outer')).json(), [false, true, true])
})
