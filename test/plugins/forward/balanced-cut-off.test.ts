import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { serving } from '#kit/booted.js'
import { authority } from '#kit/tls.js'
import { openRequest, send } from './proxied.js'

test('a response of which HTTP/2 brings less than it announced is cut off, or a 502', async (t) => {
  const ca = authority(t)
  const server = createSecureServer(ca.issue(['127.0.0.1']))
  server.on('stream', (stream, { ':path': path, ':method': method }) => {
    stream.on('error', () => {})
    const length = Number(path?.slice(1))
    stream.respond({ ':status': 200, 'content-length': length })
    if (method === 'HEAD') stream.end()
    // Destroyed, it sends RST_STREAM with NO_ERROR, and no END_STREAM.
    else stream.write('part', () => stream.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const gateway = await serving(t, [
    { use: 'listen/http', with: { address: '127.0.0.1:0' } },
    { use: 'auth/anonymous' },
    {
      use: 'forward/balanced',
      with: { targets: [`https://127.0.0.1:${port}`], http2: true, targetCaCert: ca.file },
    },
  ])
  const main = gateway.addresses.main ?? ''

  const small = await send(main, { path: '/100' })
  assert.deepEqual([small.status, JSON.parse(small.body).error], [502, 'target_reset'])
  assert.equal((await send(main, { path: '/100', method: 'HEAD' })).status, 200)
  const response = await openRequest(main, { path: '/1000000' })
  await assert.rejects(response.toArray(), { code: 'ECONNRESET' })
})
