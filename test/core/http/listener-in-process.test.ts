import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { Authenticator, type Entry, type Gateway } from 'sallyport'
import { serving } from '#kit/booted.js'
import { plugin, providing } from '#kit/plugin.js'

function seen(take: (gateway: Gateway) => void): Entry {
  return plugin('seen', (gateway) => gateway.onReady(() => take(gateway)))
}

const left = new EventEmitter()

const routes = plugin('routes', ({ http }) => {
  http.get('/drip', (_request, reply) => {
    reply.hijack()
    reply.raw.write('first')
    reply.raw.on('close', () => left.emit('left'))
  })
  http.post('/echo', { bodyLimit: 10_000_000 }, (asked) => asked.body)
})

function ask({ connect }: Gateway, method: string, path: string) {
  return request({ createConnection: () => connect() as never, method, path, headers: { host: 'inside' } })
}

test('a connection from within the process streams, and passes the gate like any other', async (t) => {
  const found: Gateway[] = []
  const closed = providing('closed', Authenticator, {
    provider: 'closed',
    authenticate: ({ headers }) =>
      headers['x-key'] === 'right'
        ? { identity: { provider: 'closed', subject: 'me', claims: {} } }
        : { rejection: { kind: 'notMine', cause: 'format' } },
  })
  const running = await serving(t, [closed, routes, seen((own) => found.push(own))])
  const [gateway] = found
  assert.ok(gateway !== undefined)
  assert.equal(running.addresses.main, undefined)

  const refused = ask(gateway, 'GET', '/drip').end()
  const [no] = await once(refused, 'response')
  assert.equal(no.statusCode, 401)

  const streamed = ask(gateway, 'GET', '/drip')
  streamed.setHeader('x-key', 'right')
  const [drip] = await once(streamed.end(), 'response')
  assert.equal(String((await once(drip, 'data'))[0]), 'first')
  const leaving = once(left, 'left')
  streamed.destroy()
  await leaving

  const long = 'x'.repeat(5_000_000)
  const echo = ask(gateway, 'POST', '/echo')
  echo.setHeader('x-key', 'right').setHeader('content-type', 'text/plain')
  const [answer] = await once(echo.end(long), 'response')
  assert.equal(await text(answer), long)
})
