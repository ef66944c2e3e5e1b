import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { Authenticator, definePlugin, Errand, type Gateway, type Plugin } from 'sallyport'
import { serving } from '../kit/booted.js'

const open = { use: 'auth/anonymous' }

function errand(over: Promise<void>, end: () => void = () => {}): Plugin {
  return definePlugin({
    name: `errand-${Math.random()}`,
    api: 1,
    provides: [Errand],
    setup: (gateway) => gateway.provide(Errand, { over, end }),
  })
}

function seen(take: (gateway: Gateway) => void): Plugin {
  return definePlugin({ name: 'seen', api: 1, setup: (gateway) => gateway.onReady(() => take(gateway)) })
}

const left = new EventEmitter()

const routes = definePlugin({
  name: 'routes',
  api: 1,
  setup({ http }) {
    http.get('/drip', (_request, reply) => {
      reply.hijack()
      reply.raw.write('first')
      reply.raw.on('close', () => left.emit('left'))
    })
    http.post('/echo', { bodyLimit: 10_000_000 }, (asked) => asked.body)
  },
})

function ask({ connect }: Gateway, method: string, path: string) {
  return request({ createConnection: () => connect() as never, method, path, headers: { host: 'inside' } })
}

test('the errands of a list end the gateway when all of them are over', async (t) => {
  let finish = (): void => {}
  const late = new Promise<void>((resolve) => {
    finish = resolve
  })
  const running = await serving(t, [open, { use: errand(Promise.resolve()) }, { use: errand(late) }])
  let over = false
  void running.over.then(() => {
    over = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(over, false)

  finish()
  await running.over
})

test('an errand that fails is told to whoever runs the list', async (t) => {
  let fail = (_error: Error): void => {}
  const work = new Promise<void>((_resolve, reject) => {
    fail = reject
  })
  const running = await serving(t, [open, { use: errand(work) }])

  fail(new Error('lost'))
  await assert.rejects(running.over, /lost/)
})

test('a stop ends the errands before it waits for anything', async (t) => {
  let ended = 0
  const running = await serving(t, [open, { use: errand(Promise.resolve(), () => ended++) }])

  await running.stop()
  assert.ok(ended > 0)
})

test('a connection from within streams, and passes the gate like any other', async (t) => {
  const found: Gateway[] = []
  const closed = definePlugin({
    name: 'closed',
    api: 1,
    provides: [Authenticator],
    setup: (gateway) =>
      gateway.provide(Authenticator, {
        provider: 'closed',
        authenticate: ({ headers }) =>
          headers['x-key'] === 'right'
            ? { identity: { provider: 'closed', subject: 'me', claims: {} } }
            : { rejection: { kind: 'notMine', cause: 'format' } },
      }),
  })
  const running = await serving(t, [
    { use: closed },
    { use: routes },
    { use: seen((own) => found.push(own)) },
  ])
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
