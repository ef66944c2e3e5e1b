import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { closedPort, listening } from '#kit/listening.js'
import { listen } from '#kit/plugin.js'
import { dial } from '#kit/raw.js'
import { frozenTarget } from './frozen-target.js'
import { proxied } from './proxied.js'

const CHUNK = Buffer.alloc(64 * 1024, 'x')
const MOST = 256 * 1024 ** 2
// More than the buffers of two connections and the proxy between them can hold.
const HELD = 24 * 1024 ** 2

/** Writes as fast as possible, up to `MOST`, and counts the bytes that the connection has accepted. */
function writeUntilFull(socket: Socket, frame: (chunk: Buffer) => Buffer): { taken: () => number } {
  const framed = frame(CHUNK)
  const pump = (): void => {
    while (socket.bytesWritten < MOST && socket.write(framed));
  }
  socket.on('drain', pump)
  pump()
  return { taken: () => socket.bytesWritten - socket.writableLength }
}

const chunked = (chunk: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')])

const framings: readonly (readonly [string, (chunk: Buffer) => Buffer])[] = [
  ['Transfer-Encoding: chunked', chunked],
  [`Content-Length: ${4 * MOST}`, (chunk) => chunk],
]

for (const [header, frame] of framings) {
  test(`a target that reads slowly slows down the caller: ${header.split(':')[0]}`, async (t) => {
    const target = await frozenTarget(t)
    const { main } = await proxied(t, `http://${target.host}`)
    const caller = dial(main)
    t.after(() => caller.destroy())
    caller.on('error', () => {})
    await once(caller, 'connect')
    caller.write(`POST / HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n`)

    const { taken } = writeUntilFull(caller, frame)
    // The first such request waits until a module is loaded.
    const arrived = await eventually(() => target.sockets[0])
    const held = await settledCount(taken)
    t.diagnostic(`${(held / 1024 ** 2).toFixed(1)} MiB were taken before the caller had to wait`)
    // Some kernels buffer up to 32 MiB for one end of a connection.
    assert.ok(held < MOST / 2, `${held} bytes`)

    // The upload is paused, not aborted: when the target reads again it gets the rest.
    arrived.resume()
    while (taken() < MOST / 2) await once(caller, 'drain')
  })
}

const forwarders = {
  'forward/http': (target: string) => ({ target }),
  'forward/balanced': (target: string) => ({ targets: [target] }),
}

const early = (t: TestContext): Promise<string> =>
  listening(t, (_request, response) => response.writeHead(507).end())

/** The failure, and the status that the upload gets. */
const failures = [
  ['no target', closedPort, {}, 502],
  ['a target that answers early', early, {}, 507],
  ['a limit', early, { maxBody: 1_000 }, 413],
] as const

const uploads = Object.entries(forwarders).flatMap(([use, place]) =>
  framings.flatMap(([framing, frame]) =>
    failures.map((failure) => ({ use, place, framing, frame, failure })),
  ),
)

for (const { use, place, framing, frame, failure } of uploads) {
  const [what, target, more, status] = failure
  const isChunked = framing.endsWith('chunked')
  const by = [use, framing.split(':')[0], what].join(', ')
  test(`a caller that sends its whole body first reads why it failed (${by})`, {
    timeout: 20_000,
  }, async (t) => {
    const list = [listen, { use: 'auth/anonymous' }, { use, with: { ...place(await target(t)), ...more } }]
    const { addresses } = await serving(t, list)
    const caller = dial(addresses.main ?? '')
    t.after(() => caller.destroy())
    const closed = once(caller, 'close')
    const end = isChunked ? '0\r\n\r\n' : ''
    const body = Buffer.concat([...Array(HELD / CHUNK.length).fill(frame(CHUNK)), Buffer.from(end)])

    const header = isChunked ? framing : `Content-Length: ${HELD}`
    caller.write(`POST / HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n`)
    await new Promise((resolve) => caller.write(body, resolve))
    assert.equal(String((await once(caller, 'data'))[0]).slice(9, 12), String(status))

    assert.deepEqual(await closed, [false])
  })
}

test('the gateway reads a body that goes on after its response for a limited time (T16)', async (t) => {
  const { main } = await proxied(t, await closedPort(), { bodyTimeout: 300 })
  const caller = dial(main)
  t.after(() => caller.destroy())
  caller.on('error', () => {})
  caller.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')

  const timer = setInterval(() => caller.write(chunked(CHUNK)), 20)
  t.after(() => clearInterval(timer))
  assert.match(String((await once(caller, 'data'))[0]), /^HTTP\/1.1 502 /)
  // The end may be a reset, which `once` would throw.
  if (!caller.closed) await new Promise((closed) => caller.once('close', closed))
})

/** The count, once it no longer grows. */
async function settledCount(count: () => number): Promise<number> {
  for (let last = -1; last !== count(); await setTimeout(250)) last = count()
  return count()
}
