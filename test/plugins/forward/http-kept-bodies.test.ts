import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { eventually } from '#kit/captured-log.js'
import { closedPort, listening } from '#kit/listening.js'
import { dial } from '#kit/raw.js'
import { runs } from '#kit/runs.js'
import { openRequest, proxied, renewable, send } from './proxied.js'

const MIB = 1024 ** 2
// One caller has an eighth.
const roomFor = (bytes: number): number => 8 * bytes

/** A target that counts the bytes of bodies, and behaves as the path says. */
async function target(t: TestContext) {
  const counts = { bytes: 0, requests: 0 }
  const again = new Set<string>()
  const origin = await listening(t, (request, response) => {
    counts.requests++
    request.on('data', (chunk: Buffer) => {
      counts.bytes += chunk.length
    })
    request.on('error', () => {})
    const [, what = '', id = ''] = (request.url ?? '').split('/')
    if (what === 'early') {
      response.end('early')
      return
    }
    request.on('end', () => {
      if (what === 'break') response.destroy()
      else if (what === 'hang') response.flushHeaders()
      else if (what === 'renew' && !again.has(id)) {
        again.add(id)
        response.writeHead(401).end()
      } else response.end('done')
    })
  })
  return { origin, counts }
}

/** Whether exactly this number of bytes can be kept, and not one more. */
async function roomIsExactly(main: string, bytes: number): Promise<boolean> {
  const ask = async (size: number, chunked: boolean) => {
    const headers: Record<string, string> = chunked ? { 'transfer-encoding': 'chunked' } : {}
    const path = `/renew/${Math.random()}`
    return (await send(main, { method: 'POST', path, headers, body: Buffer.alloc(size) })).status
  }
  const found = [await ask(bytes, false), await ask(bytes, true), await ask(bytes + 1, false)]
  return found.join() === '200,200,503'
}

async function openUpload(t: TestContext, main: string, head: string): Promise<Socket> {
  const socket = dial(main)
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(`POST ${head}\r\n\r\n`)
  return socket
}

function collected(): number {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  collect()
  return process.memoryUsage().arrayBuffers
}

test('T16 many endless bodies take no more memory than the limit of kept bytes', async (t) => {
  const { origin, counts } = await target(t)
  const { main } = await proxied(t, origin, { keptBodies: roomFor(4 * MIB) }, [renewable])
  const [bodies, chunks, chunk] = [40, 16, Buffer.alloc(64 * 1024, 'x')]
  assert.ok(await roomIsExactly(main, 4 * MIB))
  const [memory, before] = [collected(), counts.bytes]

  const sockets = await Promise.all(
    Array.from({ length: bodies }, () =>
      openUpload(t, main, '/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked'),
    ),
  )
  const framed = Buffer.concat([Buffer.from('10000\r\n'), chunk, Buffer.from('\r\n')])
  for (const socket of sockets) for (let sent = 0; sent < chunks; sent++) socket.write(framed)

  const all = bodies * chunks * chunk.length
  await eventually(() => counts.bytes - before >= all - 4 * MIB, 20)
  // Each connection has buffers of its own too; bytes in flight are freed soon.
  await eventually(() => collected() - memory < 4 * MIB + bodies * 192 * 1024)
  t.diagnostic(`${((collected() - memory) / MIB).toFixed(1)} MiB are held of ${all / MIB}`)

  for (const socket of sockets) socket.destroy()
  await eventually(() => roomIsExactly(main, 4 * MIB))
})

type Fate = 'done' | 'renew' | 'early' | 'break' | 'hang' | 'abort'

/** Sends one body in pieces, and ends it as `fate` says. */
async function meets(t: TestContext, main: string, fate: Fate, pieces: readonly number[], chunked: boolean) {
  const sum = pieces.reduce((total, piece) => total + piece, 0)
  const missing = fate === 'abort' ? 1 : 0
  const framing = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${sum + missing}`
  const path = `/${fate}/${Math.random()}`
  const socket = await openUpload(t, main, `${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${framing}`)
  const closed = once(socket, 'close')
  socket.on('data', () => fate === 'hang' && socket.destroy())
  for (const piece of pieces) {
    socket.write(chunked ? `${piece.toString(16)}\r\n${'x'.repeat(piece)}\r\n` : 'x'.repeat(piece))
    await new Promise(setImmediate)
  }
  if (fate === 'abort') socket.destroy()
  else if (chunked) socket.write('0\r\n\r\n')
  await closed
}

test('every kept byte is freed, however a body ends', async (t) => {
  const { origin } = await target(t)
  const { main } = await proxied(t, origin, { keptBodies: roomFor(100_000) }, [renewable])
  const fate = fc.constantFrom<Fate[]>('done', 'renew', 'early', 'break', 'hang', 'abort')
  const body = fc.tuple(
    fate,
    fc.array(fc.integer({ min: 1, max: 60_000 }), { minLength: 1, maxLength: 4 }),
    fc.boolean(),
  )

  await fc.assert(
    fc.asyncProperty(fc.array(body, { minLength: 1, maxLength: 12 }), async (bodies) => {
      await Promise.all(bodies.map(([what, pieces, chunked]) => meets(t, main, what, pieces, chunked)))
      await eventually(() => roomIsExactly(main, 100_000))
    }),
    { numRuns: 25 },
  )
})

test('the kept bytes of a refused body are freed', async (t) => {
  const { origin } = await target(t)
  const options = { keptBodies: roomFor(100_000), maxBody: 100_001, bodyTimeout: 200 }
  const { main } = await proxied(t, origin, options, [renewable])
  for (const [status, more] of [
    ['408', 0],
    ['413', 50_000],
  ] as const) {
    const socket = await openUpload(t, main, '/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked')
    const heard = once(socket, 'data')
    const sizes = more === 0 ? [90_000] : [90_000, more]
    for (const size of sizes) socket.write(`${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`)
    assert.equal(String((await heard)[0]).slice(9, 12), status)
    await eventually(() => roomIsExactly(main, 100_000))
  }
})

test('a body that exceeds the limit of kept bytes is streamed, while others are kept', async (t) => {
  const bodies: Buffer[] = []
  let heads = 0
  const origin = await listening(t, (request, response) => {
    heads++
    void buffer(request).then((body) => {
      bodies.push(body)
      response.end('done')
    })
  })
  const { main } = await proxied(t, origin, { keptBodies: roomFor(50_000) }, [renewable])

  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ minLength: 1, maxLength: 400 }),
      fc.integer({ min: 1, max: 1_500 }),
      fc.boolean(),
      async (seed, times, chunked) => {
        bodies.length = 0
        heads = 0
        const body = Buffer.concat(Array.from({ length: times }, () => seed))
        const headers: Record<string, string> = chunked ? { 'transfer-encoding': 'chunked' } : {}
        assert.equal((await send(main, { method: 'POST', headers, body })).body, 'done')
        assert.deepEqual([bodies.length, heads], [1, 1])
        assert.ok(bodies[0]?.equals(body))
      },
    ),
    {
      numRuns: runs(40),
      examples: [
        [new Uint8Array(50_001), 1, true],
        [new Uint8Array(65_536), 1, true],
      ],
    },
  )
})

test('an error for a large body does not parse it, and one for a small body has its id', async (t) => {
  const { main } = await proxied(t, await closedPort(), {}, [renewable])
  const call = (length: number) => {
    const head = '{"jsonrpc":"2.0","id":7,"params":"'
    return `${head}${'x'.repeat(length - head.length - 2)}"}`
  }
  const { parse } = JSON
  let longest = 0
  t.mock.method(JSON, 'parse', (text: string) => {
    longest = Math.max(longest, text.length)
    return parse(text)
  })
  const idFor = async (length: number) => {
    longest = 0
    const response = await openRequest(main, { method: 'POST', body: call(length) })
    let body = ''
    for await (const chunk of response) body += String(chunk)
    assert.equal(response.statusCode, 502)
    return [parse(body).id, longest > 16 * 1024]
  }

  assert.deepEqual(await idFor(64 * 1024), [7, true])
  for (const length of [64 * 1024 + 1, 15 * MIB]) assert.deepEqual(await idFor(length), [null, false])
})

test('an error has the id of its call as it was written, whether or not the body was read before', async (t) => {
  const policy = { use: 'policy/tools', with: { rules: [{ allow: ['a'] }] } }
  for (const more of [[], [policy]]) {
    const { main } = await proxied(t, await closedPort(), {}, more)
    for (const id of ['1764316800000000001', '-9223372036854775808', '1.10', '7', '"7"']) {
      const call = `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"},"id":${id}}`
      const headers = { 'content-type': 'application/json' }
      const { status, body } = await send(main, { method: 'POST', headers, body: call })
      assert.equal(status, 502)
      assert.ok(body.includes(`"id":${id},`), body)
    }
  }
})

test('a body is freed when its response begins, which may last', async (t) => {
  const origin = await listening(t, (request, response) => {
    const begin = () => response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': here\n\n')
    request.on('end', begin).resume()
  })
  const policy = { use: 'policy/tools', with: { rules: [{ deny: ['secret'] }] } }
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a', arguments: {} } }
  const body = Buffer.from(JSON.stringify(call) + ' '.repeat(2 * MIB))
  for (const more of [policy, renewable]) {
    for (const framing of [
      ['content-length', String(body.length)],
      ['transfer-encoding', 'chunked'],
    ] as const) {
      const { main } = await proxied(
        t,
        origin,
        { keptBodies: roomFor(2 * body.length), maxBody: body.length },
        [more],
      )
      const before = collected()
      for (let count = 0; count < 8; count++) {
        const headers = { 'content-type': 'application/json', [framing[0]]: framing[1] }
        const open = await openRequest(main, { method: 'POST', headers, body })
        t.after(() => open.destroy())
        open.resume()
        assert.equal(open.statusCode, 200)
      }
      await eventually(() => collected() - before < body.length)
    }
  }
})
