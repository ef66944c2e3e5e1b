import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { opened } from '#kit/listening.js'
import { proxied } from './proxied.js'
import { answerTo } from './raw-target.js'

const POISON = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL'
const NEXT = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext'
const transports = [
  ['buffered', 'POST /PATH HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi'],
  ['streaming', 'POST /PATH HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n'],
] as const

async function writeInPieces(socket: Socket, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) {
    await new Promise((resolve) => socket.write(piece, 'latin1', resolve))
    await new Promise(setImmediate)
  }
}

/**
 * Responds to `/odd` with these pieces, each in a write of its own; `rest` is for the next request on the connection.
 */
async function targetWithPieces(t: TestContext, pieces: readonly string[], rest = '') {
  const server = createServer((socket) => {
    socket.setNoDelay(true)
    let owed = ''
    let heard = ''
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1')
      if (!/(?:hi|0\r\n\r\n|^HEAD [\s\S]*\r\n\r\n)$/.test(heard)) return
      const [line = ''] = heard.split('\r\n')
      heard = ''
      if (!line.includes('/odd')) {
        socket.write(owed + NEXT, 'latin1')
        return
      }
      owed = rest
      void writeInPieces(socket, pieces)
    })
  })
  const { port } = await opened(t, server)
  return `http://127.0.0.1:${port}`
}

const framings = [
  ['chunked', 'Transfer-Encoding: chunked\r\n', '5\r\nhello\r\n0\r\n\r\n'],
  ['a length', 'Content-Length: 5\r\n', 'hello'],
  ['a length, and an answer for a body', `Content-Length: ${POISON.length}\r\n`, POISON],
  ['a great length', 'Content-Length: 500000\r\n', POISON],
] as const

for (const [transport, request] of transports) {
  for (const status of ['204 No Content', '304 Not Modified']) {
    for (const [framing, header, body] of framings) {
      const head = `HTTP/1.1 ${status}\r\nETag: "x"\r\n${header}\r\n`
      for (const [name, pieces, rest] of [
        ['at once', [head + body], ''],
        ['a moment later', [head, body], ''],
        ['before the next answer', [head], body],
      ] as const) {
        test(`T13 a ${status} with ${framing} is forwarded, and its body is not taken for another response (${transport}, ${name})`, async (t) => {
          const { main } = await proxied(t, await targetWithPieces(t, pieces, rest))
          for (let turn = 0; turn < 3; turn++) {
            const odd = await answerTo(main, request.replace('PATH', 'odd'))
            assert.equal(odd.line, `HTTP/1.1 ${status}`)
            assert.ok(odd.headers.some(([each, value]) => each === 'ETag' && value === '"x"'))
            const next = await answerTo(main, request.replace('PATH', 'next'))
            assert.deepEqual([next.line, next.body], ['HTTP/1.1 200 OK', 'next'])
          }
        })
      }
    }
  }

  test(`a 304 may have a Content-Length, and a 204 has none (${transport})`, async (t) => {
    for (const [status, told] of [
      ['304 Not Modified', ['5']],
      ['204 No Content', []],
    ] as const) {
      const { main } = await proxied(
        t,
        await targetWithPieces(t, [`HTTP/1.1 ${status}\r\nContent-Length: 5\r\n\r\n`]),
      )
      const { line, headers } = await answerTo(main, request.replace('PATH', 'odd'))
      assert.equal(line, `HTTP/1.1 ${status}`)
      assert.deepEqual(
        headers.filter(([each]) => each.toLowerCase() === 'content-length').map(([, value]) => value),
        told,
      )
    }
  })

  test(`a 205 with a body keeps its framing (${transport})`, async (t) => {
    for (const [, header, body] of framings.slice(0, 3)) {
      const { main } = await proxied(
        t,
        await targetWithPieces(t, [`HTTP/1.1 205 Reset\r\n${header}\r\n${body}`]),
      )
      const odd = await answerTo(main, request.replace('PATH', 'odd'))
      assert.deepEqual(
        [odd.line, odd.body],
        ['HTTP/1.1 205 Reset', body.startsWith('5\r\n') ? 'hello' : body],
      )
      assert.equal((await answerTo(main, request.replace('PATH', 'next'))).body, 'next')
    }
  })

  test(`an unexpected 100 Continue is skipped, split at any byte (${transport})`, async (t) => {
    const final = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
    // The same bytes at the start of a body are part of the body.
    const bodies = ['19\r\n', 'HTTP/1.1 100 Continue\r\n\r\n', '\r\n', '0\r\n\r\n']
    const interim = fc.constantFrom('HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 100\r\nX-A: 1\r\n\r\n')
    await fc.assert(
      fc.asyncProperty(
        fc.array(interim, { minLength: 1, maxLength: 3 }),
        fc.array(fc.nat(120), { maxLength: 5 }),
        async (interims, cuts) => {
          const text = interims.join('') + final
          const at = [...new Set(cuts.map((cut) => cut % text.length))].sort((a, b) => a - b)
          const pieces = [0, ...at].map((from, index) => text.slice(from, at[index]))
          const origin = await targetWithPieces(t, [...pieces.filter(Boolean), ...bodies])
          const { main, running } = await proxied(t, origin)
          const odd = await answerTo(main, request.replace('PATH', 'odd'))
          assert.match(odd.line, /^HTTP\/1.1 200 /)
          assert.equal(odd.body, 'HTTP/1.1 100 Continue\r\n\r\n')
          assert.equal((await answerTo(main, request.replace('PATH', 'next'))).body, 'next')
          await running.stop(0)
        },
      ),
      { numRuns: 25 },
    )
  })
}

for (const [name, head, rest] of [
  ['a moment later', `HTTP/1.1 200 OK\r\nContent-Length: ${POISON.length}\r\n\r\n`, ''],
  ['before the next answer', `HTTP/1.1 200 OK\r\nContent-Length: ${POISON.length}\r\n\r\n`, POISON],
  ['unannounced', 'HTTP/1.1 200 OK\r\nETag: "x"\r\n\r\n', POISON],
] as const) {
  test(`T13 the body of a response to HEAD is not taken for another response: ${name}`, async (t) => {
    const pieces = rest === '' ? [head, POISON] : [head]
    const { main } = await proxied(t, await targetWithPieces(t, pieces, rest))
    for (let turn = 0; turn < 3; turn++) {
      const odd = await answerTo(main, 'HEAD /odd HTTP/1.1\r\nHost: a\r\n\r\n')
      assert.equal(odd.line, 'HTTP/1.1 200 OK')
      for (const [, request] of transports)
        assert.equal((await answerTo(main, request.replace('PATH', 'next'))).body, 'next')
    }
  })
}
