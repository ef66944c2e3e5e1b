import assert from 'node:assert/strict'
import type { ServerHttp2Session } from 'node:http2'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { fakeClock } from '#kit/fake-clock.js'
import { beforeHttp2 } from './http2-replica.js'
import { openRequest, send } from './proxied.js'

const STREAMS = 6

test('connections of HTTP/2 that a burst of streams needed are closed after it, and no stream with them', async (t) => {
  const clock = fakeClock(t)
  const sessions = new Set<ServerHttp2Session>()
  const main = await beforeHttp2(t, (server) => {
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
  })

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
