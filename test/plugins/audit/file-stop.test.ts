import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { recordedLog, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { opened } from '#kit/listening.js'
import { listen } from '#kit/plugin.js'
import { dial } from '#kit/raw.js'
import { FileLock } from '#plugins/store/sqlite/file-lock.js'
import { auditing, LOST, WAITING } from './auditing.js'
import { event, idsIn } from './feeder.js'

/** A target that begins each response and never ends it, and accepts upgrades. */
async function endless(t: TestContext) {
  let slowCalls = 0
  const server = createServer((request, response) => {
    if (request.method === 'POST') slowCalls++
    if (request.method !== 'GET') return
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: 1\n\n')
  })
  server.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  })
  const { port } = await opened(t, server)
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    slowCalls: () => slowCalls,
  }
}

/** A proxy of this target that audits to a file, with requests under way that never end by themselves. */
async function busy(t: TestContext, requests: readonly string[]) {
  const target = await endless(t)
  const { log, lines } = recordedLog()
  const place = folder(t)
  const listTo = (name: string) => [
    listen,
    { use: 'auth/anonymous' },
    { use: 'audit/file', with: { path: join(place, name) } },
    { use: 'forward/http', with: { target: target.url } },
  ]
  const running = await serving(t, listTo('audit.jsonl'), { log, drainLimit: 20, replacedDrainLimit: 20 })
  for (const request of requests) {
    const socket = dial(running.addresses.main ?? '')
    t.after(() => socket.destroy())
    socket.on('error', () => {})
    socket.write(request)
    if (FIRST_DATA.test(request)) await once(socket, 'data')
    else await eventually(() => target.slowCalls() > 0)
  }
  const audited = () =>
    readFileSync(join(place, 'audit.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  const errors = () => lines.filter(({ level }) => level === 50)
  return { running, listTo, audited, errors }
}

/** The first data on the socket show that the request is under way. */
const FIRST_DATA = /^GET|Expect/

const call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{}}}'

const UNDER_WAY: Readonly<Record<string, string>> = {
  'an open event stream': 'GET / HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n',
  'a WebSocket':
    'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\nSec-WebSocket-Version: 13\r\n\r\n',
  'a slow call of a tool': `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${call.length}\r\n\r\n${call}`,
  'a body that is half sent':
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n{"jsonrpc"',
}

for (const [name, request] of Object.entries(UNDER_WAY)) {
  test(`${name} that a stop cuts off has its line`, async (t) => {
    const { running, audited, errors } = await busy(t, [request])
    await running.stop()
    assert.equal(audited().length, 1)
    assert.deepEqual(errors(), [])
  })
}

test('a request that a reload with another path cuts off has its line in the old file', async (t) => {
  const requests = Object.values(UNDER_WAY)
  const { running, listTo, audited, errors } = await busy(t, requests)
  await running.swap(listTo('other.jsonl'))
  await eventually(() => audited().length === requests.length)
  assert.deepEqual(errors(), [])
})

test('the log reports a file that hangs after five seconds, and a stop waits as long', async (t) => {
  const path = join(folder(t), 'audit.jsonl')
  const entry = { use: 'audit/file', with: { path, maxBytes: '64KiB' } }
  const { running, feed, said, lost } = await auditing(t, entry)
  // Like another process that hangs while it rotates the file.
  const name = join(dirname(path), '.audit.jsonl.lock')
  const { log } = recordedLog()
  const lock = await new FileLock(name, log).acquire()
  t.after(() => lock.release())
  for (const id of ['0', '1']) feed(event(id, { subject: 'x'.repeat(60_000) }))
  await eventually(() => said(WAITING).length === 1)
  assert.match(String(said(WAITING)[0]?.['reason']), /more than 5 s/)
  assert.deepEqual(idsIn(readFileSync(path, 'utf8')), ['0'])

  const began = performance.now()
  await running.stop()
  assert.ok(performance.now() - began < 8_000)
  assert.equal(lost(), 1)
  assert.equal(said(LOST)[0]?.['lost'], 1)
})
