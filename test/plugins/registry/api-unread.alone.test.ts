import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { serving } from '#kit/booted.js'
import { listen } from '#kit/plugin.js'
import { BASE, fileRegistry, type ListBody, server } from './registry.js'

const documents = Array.from({ length: 400 }, (_, index) =>
  server(index < 200 ? `a.example/s${index}` : 'a.example/many', `1.0.${index}`, {
    _meta: { 'com.example/large': 'x'.repeat(20_000) },
  }),
)

/** How many bytes more this process takes at most, while clients send these requests and read nothing. */
async function mostTaken(t: TestContext, port: number, requests: readonly (readonly string[])[]) {
  const before = process.memoryUsage().rss
  const sockets = requests.map((urls): Socket => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.pause()
    socket.write(urls.map((url) => `GET ${url} HTTP/1.1\r\nhost: x\r\n\r\n`).join(''))
    return socket
  })
  t.after(() => sockets.map((socket) => socket.destroy()))
  let most = 0
  for (let look = 0; look < 30; look++) {
    await wait(100)
    most = Math.max(most, process.memoryUsage().rss - before)
  }
  return most
}

test('T16 clients that never read their responses take little memory, and others are served', async (t) => {
  const { addresses } = await serving(t, [listen, ...fileRegistry(t, documents).list])
  const port = Number(new URL(addresses.main ?? '').port)
  const { metadata } = (await (await fetch(`${addresses.main}${BASE}`)).json()) as ListBody
  const pipelined = (query: (socket: number, index: number) => string) =>
    Array.from({ length: 40 }, (_, socket) =>
      Array.from({ length: 60 }, (_each, index) => `${BASE}${query(socket, index)}`),
    )
  for (const [what, requests] of Object.entries({
    'lists with parameters that nobody knows': pipelined(
      (socket, index) => `?limit=100&x=${socket}-${index}`,
    ),
    'lists with other limits': pipelined((socket, index) => `?limit=${30 + ((socket * 7 + index) % 70)}`),
    'versions of one server': pipelined(() => '/a.example%2Fmany/versions'),
    'pages behind a cursor': pipelined(() => `?limit=100&cursor=${metadata.nextCursor}`),
  })) {
    const taken = await mostTaken(t, port, requests)
    // What waits to be read, the cache, and garbage.
    assert.ok(taken < 300_000_000, `${what} took ${Math.round(taken / 1e6)} MB`)
    const other = connect(port, '127.0.0.1')
    other.write(`GET ${BASE} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
    other.resume()
    await once(other, 'end')
  }
})
