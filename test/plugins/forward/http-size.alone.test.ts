import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { type TestContext, test } from 'node:test'
import { listening } from '#kit/listening.js'
import { type StartedProgram, startedProgram } from '#kit/started-program.js'
import { openRequest } from './proxied.js'

// The full numbers of the requirement take long; they run on request.
const FULL = process.env['SALLYPORT_FULL_TESTS'] === '1'
const MIB = 1024 ** 2
const BODY = FULL ? 1024 * MIB : 256 * MIB
const STREAMS = FULL ? 2_000 : 200
// V8's young generation alone takes 48 MiB at most; a body that is kept would take all of its size.
const MOST_GROWTH = 64 * MIB
// With few streams, the growth of the process in its first second is a large part of each.
const MOST_FOR_A_STREAM = (FULL ? 64 : 256) * 1024

// Only Linux has the memory of another process.
const skip = process.platform === 'linux' ? false : 'there is no /proc here'

/** The program in front of a target of this process, and its memory. */
async function proxyBefore(t: TestContext, target: string) {
  const proxy = startedProgram(t, ['proxy', 'big', '--target-uri', target])
  return { main: await proxy.ready(), memory: () => residentOf(proxy) }
}

function residentOf({ process: { pid } }: StartedProgram): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

/** The peak while `work` ran, less the memory before. */
async function growthIn(memory: () => number, work: () => Promise<unknown>): Promise<number> {
  const before = memory()
  let most = before
  const watch = setInterval(() => {
    most = Math.max(most, memory())
  }, 20)
  try {
    await work()
  } finally {
    clearInterval(watch)
  }
  return Math.max(most, memory()) - before
}

function* filler(size: number): Generator<Buffer> {
  const chunk = Buffer.alloc(64 * 1024, 'x')
  for (let sent = 0; sent < size; sent += chunk.length) yield chunk
}

async function sizeOf(stream: AsyncIterable<Buffer>): Promise<number> {
  let bytes = 0
  for await (const chunk of stream) bytes += chunk.length
  return bytes
}

/** Sends a body of this size. */
async function upload(main: string, path: string, size: number): Promise<IncomingMessage> {
  const request = httpRequest(main, { method: 'POST', path, agent: false })
  const answered = once(request, 'response')
  const sent = pipeline(Readable.from(filler(size)), request)
  const [answer]: IncomingMessage[] = await answered
  assert.ok(answer !== undefined)
  void sent.catch((error: Error) => answer.destroy(error))
  return answer
}

test('a body of any size passes in each direction, and in both at once, with constant memory', {
  skip,
}, async (t) => {
  const origin = await listening(t, (request, response) => {
    if (request.method === 'GET') Readable.from(filler(Number(request.url?.slice(1)))).pipe(response)
    else if (request.url === '/echo') request.pipe(response)
    else void sizeOf(request).then((bytes) => response.end(String(bytes)))
  })
  const { main, memory } = await proxyBefore(t, origin)
  const directions: readonly (readonly [string, (size: number) => Promise<unknown>])[] = [
    ['down', async (size) => sizeOf(await openRequest(main, { path: `/${size}` }))],
    ['up', async (size) => text(await upload(main, '/count', size))],
    ['both', async (size) => sizeOf(await upload(main, '/echo', size))],
  ]

  for (const [name, transfer] of directions) {
    // The heap grows with the first bytes, and must not grow with the others.
    await transfer(BODY / 2)
    const start = performance.now()
    const growth = await growthIn(memory, async () => assert.equal(Number(await transfer(BODY)), BODY))
    const seconds = (performance.now() - start) / 1000
    t.diagnostic(
      `${name}: ${BODY / MIB} MiB in ${seconds.toFixed(1)} s, ${(growth / MIB).toFixed(1)} MiB more memory`,
    )
    assert.ok(growth < MOST_GROWTH, `${name} grew by ${growth}`)
  }
})

test('many open streams need little memory, and each delivers its own events', { skip }, async (t) => {
  const open: ServerResponse[] = []
  const origin = await listening(t, (_request, response) => {
    open.push(response)
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  })
  const { main, memory } = await proxyBefore(t, origin)
  const listeners: IncomingMessage[] = []
  const asked = { headers: { accept: 'text/event-stream' } }
  const listen = async (): Promise<void> => {
    listeners.push(...(await Promise.all(Array.from({ length: 50 }, () => openRequest(main, asked)))))
  }

  await listen()
  const growth = await growthIn(memory, async () => {
    while (listeners.length < STREAMS + 50) await listen()
  })
  t.diagnostic(`${STREAMS} streams: ${(growth / STREAMS / 1024).toFixed(1)} KiB for each`)
  assert.equal(open.length, listeners.length)
  assert.ok(growth / STREAMS < MOST_FOR_A_STREAM, `${growth / STREAMS} bytes for each stream`)

  const heard = Promise.all(listeners.map((listener) => once(listener, 'data')))
  for (const [index, response] of open.entries()) response.write(`data: ${index}\n\n`)
  const events = new Set((await heard).map(([chunk]) => String(chunk)))
  assert.equal(events.size, listeners.length)

  const gone = Promise.all(open.map((response) => once(response, 'close')))
  for (const listener of listeners) listener.destroy()
  await gone
})
