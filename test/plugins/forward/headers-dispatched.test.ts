import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import type { Dispatch } from 'sallyport'
import { listening } from '#kit/listening.js'
import { plugin } from '#kit/plugin.js'
import { proxied } from './proxied.js'

test('a dispatched request may have a body of any size, and has no trailers', async (t) => {
  const target = await listening(t, (request, response) => {
    void buffer(request).then(({ byteLength }) => response.end(String(byteLength)))
  })
  let dispatch: Dispatch = () => assert.fail('not booted')
  const user = plugin('user', (gateway) => {
    dispatch = gateway.dispatch
  })
  await proxied(t, target, {}, [user])

  for (const size of [1, 64 * 1024, 300 * 1024, 3_000_000]) {
    const { statusCode, body } = await dispatch({
      method: 'POST',
      url: '/',
      payload: Buffer.alloc(size, 'x'),
    })
    assert.deepEqual([statusCode, body], [200, String(size)])
  }
})
