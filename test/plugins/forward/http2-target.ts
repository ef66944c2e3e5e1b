import { createSecureServer, type Http2SecureServer, type SecureServerOptions } from 'node:http2'
import type { TestContext } from 'node:test'
import type { Entry } from 'sallyport'
import { recordedLog, serving } from '#kit/booted.js'
import { opened } from '#kit/listening.js'
import { listen } from '#kit/plugin.js'
import { type Authority, authority } from '#kit/tls.js'

interface Given {
  readonly options?: Readonly<Record<string, unknown>>
  readonly more?: readonly Entry[]
  readonly server?: SecureServerOptions
}

/** A server that speaks only HTTP/2. `prepare` runs before it listens. */
export async function http2Target(
  t: TestContext,
  prepare: (server: Http2SecureServer) => void,
  server: SecureServerOptions = {},
  ca: Authority = authority(t),
) {
  const created = createSecureServer({ ...ca.issue(['127.0.0.1']), ...server })
  created.on('sessionError', () => {})
  prepare(created)
  const { port, sockets } = await opened(t, created)
  return { ca, target: `https://127.0.0.1:${port}`, sockets }
}

/** A gateway in front of such a server. */
export async function beforeHttp2(
  t: TestContext,
  prepare: (server: Http2SecureServer) => void,
  { options = {}, more = [], server = {} }: Given = {},
) {
  const { ca, target, sockets } = await http2Target(t, prepare, server)
  const { log, lines, scrubber } = recordedLog()
  const list = [
    listen,
    { use: 'auth/anonymous' },
    ...more,
    { use: 'forward/http2', with: { target, targetCaCert: ca.file, ...options } },
  ]
  const running = await serving(t, list, { log, scrubber })
  return { main: running.addresses.main ?? '', ca, target, sockets, lines, running }
}
