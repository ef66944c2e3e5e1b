import { once } from 'node:events'
import { createSecureServer, type Http2SecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { serving } from '#kit/booted.js'
import { listen } from '#kit/plugin.js'
import { authority } from '#kit/tls.js'

/** A gateway in front of one replica that speaks HTTP/2, which `prepare` gets before it listens. Returns the gateway's URL. */
export async function beforeHttp2(
  t: TestContext,
  prepare: (server: Http2SecureServer) => void,
): Promise<string> {
  const ca = authority(t)
  const server = createSecureServer(ca.issue(['127.0.0.1']))
  prepare(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const gateway = await serving(t, [
    listen,
    { use: 'auth/anonymous' },
    {
      use: 'forward/balanced',
      with: { targets: [`https://127.0.0.1:${port}`], http2: true, targetCaCert: ca.file },
    },
  ])
  return gateway.addresses.main ?? ''
}
