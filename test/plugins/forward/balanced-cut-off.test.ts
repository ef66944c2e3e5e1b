import assert from 'node:assert/strict'
import type { Http2SecureServer } from 'node:http2'
import { test } from 'node:test'
import { beforeHttp2 } from './http2-replica.js'
import { call, openRequest, send } from './proxied.js'

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

test('a replica that ends a connection of HTTP/2 in good order stays in use: the sessions there are not moved', async (t) => {
  const replica = (name: string) => (server: Http2SecureServer) =>
    server.on('stream', (stream, { ':path': path }) => {
      stream.on('error', () => {})
      if (path === '/last') stream.session?.goaway()
      else stream.end(name)
    })
  const main = await beforeHttp2(t, replica('a'), replica('b'))
  const bodies = async () => [(await send(main, call(1))).body, (await send(main, call(1))).body].toSorted()

  assert.deepEqual(await bodies(), ['a', 'b'])
  assert.equal((await send(main, { ...call(1), path: '/last' })).status, 502)
  assert.deepEqual(await bodies(), ['a', 'b'])
})
