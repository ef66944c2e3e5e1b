import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { AccessSink, definePlugin } from 'sallyport'
import { recordedLog, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { listen, plugin, providing } from '#kit/plugin.js'
import { dial, sendRaw } from '#kit/raw.js'

interface Seen {
  readonly status: number
  readonly bytes: number
  readonly aborted: boolean
  readonly refused: boolean
  readonly route: string | undefined
}

function watching(from: 0 | 400 = 0) {
  const seen: Seen[] = []
  const sink = providing('watching', AccessSink, {
    from,
    ended({ status, bytes, aborted, refused, durationMs, request }) {
      assert.ok(durationMs >= 0)
      seen.push({ status, bytes, aborted, refused, route: request.routeOptions.url })
    },
  })
  return { seen, sink }
}

const routes = plugin('routes', ({ http }) => {
  const config = { public: true }
  http.get('/hello', { config }, () => 'hello')
  http.get('/large', { config }, () => Buffer.alloc(64 * 1024 ** 2))
  http.get('/closed', () => 'let in')
  http.get('/socket', { config: { upgrades: true } }, () => 'let in')
  http.get('/cut', { config }, (_request, reply) => {
    reply.hijack()
    reply.raw.writeHead(200)
    reply.raw.write('half', () => reply.raw.destroy())
  })
  http.get('/never', { config }, (_request, reply) => void reply.hijack())
})

test('a sink gets each request once, however it ends', async (t) => {
  const { seen, sink } = watching()
  const list = [listen, sink, routes]
  const { addresses } = await serving(t, list)
  const main = addresses.main ?? ''
  const ask = (target: string) =>
    sendRaw(main, `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)

  for (const target of ['/hello', '/closed', '/nowhere', '/cut', 'http://[/']) await ask(target)
  const leaving = dial(main)
  leaving.write('GET /never HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(leaving, 'connect')
  await new Promise((sent) => leaving.write('', sent))
  leaving.destroy()

  await eventually(() => seen.length >= 6)
  assert.deepEqual(
    seen.map(({ status, aborted, refused, route }) => [status, aborted, refused, route]),
    [
      [200, false, false, '/hello'],
      [401, false, true, '/closed'],
      [401, false, true, undefined],
      [200, true, false, '/cut'],
      [400, false, true, undefined],
      [499, true, false, '/never'],
    ],
  )
  assert.deepEqual([seen[0]?.bytes, seen[3]?.bytes, seen[5]?.bytes], [5, 4, 0])
})

test('a sink gets the statuses that it wants, and one that throws changes no response', async (t) => {
  const { seen, sink } = watching(400)
  const failing = definePlugin({
    name: 'failing',
    api: 1,
    provides: [AccessSink],
    setup(gateway) {
      const ended = (): never => {
        throw new Error('no')
      }
      gateway.provide(AccessSink, { from: 0, ended })
      gateway.provide(AccessSink, { from: 0, ended: () => Promise.reject(new Error('no')) as never })
    },
  })
  const { log, lines } = recordedLog()
  const list = [listen, { use: failing }, sink, routes]
  const { addresses } = await serving(t, list, { log })

  const ask = (path: string) => fetch((addresses.main ?? '') + path).then((response) => response.text())
  assert.equal(await ask('/hello'), 'hello')
  await ask('/closed')
  await eventually(() => lines.filter(({ msg }) => msg === 'an access sink failed').length === 4)
  assert.deepEqual(
    seen.map(({ status }) => status),
    [401],
  )
})

test('a response to an upgrade is complete, and one whose client resets the connection is not', async (t) => {
  const { seen, sink } = watching()
  const list = [listen, sink, routes]
  const { addresses } = await serving(t, list)
  const main = addresses.main ?? ''
  const upgrade = 'Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
  for (const path of ['/hello', '/socket', '/nowhere'])
    await sendRaw(main, `GET ${path} HTTP/1.1\r\n${upgrade}`)
  const leaving = dial(main)
  leaving.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(leaving, 'data')
  leaving.resetAndDestroy()

  await eventually(() => seen.length >= 4)
  assert.deepEqual(
    seen.map(({ status, aborted }) => [status, aborted]),
    [
      [200, false],
      [401, false],
      [401, false],
      [200, true],
    ],
  )
})

test('a dispatched request reaches no sink, and its log lines have no address', async (t) => {
  const { seen, sink } = watching()
  const { log, lines } = recordedLog()
  const asking = plugin('asking', (gateway) => {
    gateway.http.post('/echo', { config: { public: true } }, ({ body }) => body)
    gateway.http.get('/asking', { config: { public: true } }, async () => {
      const payload = { said: 'ä' }
      const echo = await gateway.dispatch({ method: 'POST', url: '/echo', payload })
      const headers = { authorization: 'Bearer x' }
      for (const request of ['/closed', { url: '/closed', headers }])
        assert.equal((await gateway.dispatch(request)).statusCode, 401)
      return echo.json()
    })
  })
  const list = [listen, sink, routes, asking]
  const { addresses } = await serving(t, list, { log })

  const response = await fetch(`${addresses.main}/asking`)
  assert.deepEqual(await response.json(), { said: 'ä' })
  await eventually(() => seen.length > 0)
  assert.deepEqual(
    seen.map(({ route }) => route),
    ['/asking'],
  )
  const refused = lines.filter(({ msg }) => msg === 'refused')
  assert.deepEqual(
    refused.map(({ level, dispatched, address }) => [level, dispatched, address]),
    [
      ['debug', true, undefined],
      ['warn', true, undefined],
    ],
  )
})
