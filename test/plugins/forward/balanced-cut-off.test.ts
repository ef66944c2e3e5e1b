import assert from 'node:assert/strict'
import { test } from 'node:test'
import { beforeHttp2 } from './http2-replica.js'
import { openRequest, send } from './proxied.js'

test('a response of which HTTP/2 brings less than it announced is cut off, or a 502', async (t) => {
  const main = await beforeHttp2(t, (server) => {
    server.on('stream', (stream, { ':path': path, ':method': method }) => {
      stream.on('error', () => {})
      const length = Number(path?.slice(1))
      stream.respond({ ':status': 200, 'content-length': length })
      if (method === 'HEAD') stream.end()
      // Destroyed, it sends RST_STREAM with NO_ERROR, and no END_STREAM.
      else stream.write('part', () => stream.destroy())
    })
  })

  const small = await send(main, { path: '/100' })
  assert.deepEqual([small.status, JSON.parse(small.body).error], [502, 'target_reset'])
  assert.equal((await send(main, { path: '/100', method: 'HEAD' })).status, 200)
  const response = await openRequest(main, { path: '/1000000' })
  await assert.rejects(response.toArray(), { code: 'ECONNRESET' })
})
