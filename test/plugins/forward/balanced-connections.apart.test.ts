import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createSecureServer, type ServerHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { fakeClock } from '#kit/fake-clock.js'
import { authority } from '#kit/tls.js'
import { openRequest, send } from './proxied.js'

const STREAMS = 6

test('connections of HTTP/2 that a burst of streams needed are closed after it, and no stream with them', async (t) => {
  const clock = fakeClock(t)
  const ca = authority(t)
  const server = createSecureServer(ca.issue(['127.0.0.1']))
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session) => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session))
  })
  server.on('stream', (stream, { ':path': path }) => {
    stream.on('error', () => {})
    stream.respond({ ':status': 200, 'content-type': 'text/event-stream' })
    if (path === '/') stream.end()
    else stream.write('data: 1\n\n')
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

  const [kept, ...streams] = await Promise.all(
    Array.from({ length: STREAMS }, () => openRequest(main, { path: '/stream' })),
  )
  assert.equal(sessions.size, STREAMS)
  for (const stream of streams) stream.destroy()
  await clock.advance(61_000)

  await send(main)
  // That of the open stream, and that of the last request.
  await eventually(() => (sessions.size === 2 ? true : undefined))
  assert.equal(kept?.destroyed, false)
})
