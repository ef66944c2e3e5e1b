import { createSecureServer, type Http2SecureServer } from 'node:http2'
import type { TestContext } from 'node:test'
import { serving } from '#kit/booted.js'
import { opened } from '#kit/listening.js'
import { listen } from '#kit/plugin.js'
import { authority } from '#kit/tls.js'

/** A gateway in front of replicas that speak HTTP/2, each of which is prepared before it listens. Returns the gateway's URL. */
export async function beforeHttp2(
  t: TestContext,
  ...prepares: readonly ((server: Http2SecureServer) => void)[]
): Promise<string> {
  const ca = authority(t)
  const targets = await Promise.all(
    prepares.map(async (prepare) => {
      const server = createSecureServer(ca.issue(['127.0.0.1']))
      prepare(server)
      const { port } = await opened(t, server)
      return `https://127.0.0.1:${port}`
    }),
  )
  const gateway = await serving(t, [
    listen,
    { use: 'auth/anonymous' },
    {
      use: 'forward/balanced',
      with: { targets, http2: true, targetCaCert: ca.file },
    },
  ])
  return gateway.addresses.main ?? ''
}
