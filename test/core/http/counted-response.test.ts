import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { type TestContext, test } from 'node:test'
import { CountedResponse } from '#core/http/counted-response.js'
import { opened } from '#kit/listening.js'
import { sendRaw } from '#kit/raw.js'

/** The counted body bytes of each response, and the bytes that were sent. */
async function counted(t: TestContext, answer: RequestListener, methods: readonly string[] = ['GET']) {
  const counts: number[] = []
  const server = createServer({ ServerResponse: CountedResponse }, (request, response) => {
    response.on('finish', () => counts.push(response.bodyBytes))
    answer(request, response)
  })
  const { port } = await opened(t, server)
  const asked = methods.map((method, index) =>
    [
      `${method} / HTTP/1.1`,
      'Host: a',
      ...(index + 1 < methods.length ? [] : ['Connection: close']),
      '',
      '',
    ].join('\r\n'),
  )
  const sent = await sendRaw(`http://127.0.0.1:${port}`, asked.join(''))
  return { counts, sent }
}

test('every way to write a body is counted, in bytes and without its framing', async (t) => {
  const answers: readonly (readonly [RequestListener, number])[] = [
    [(_request, response) => void response.end('hello'), 5],
    [(_request, response) => void response.end('ä'), 2],
    [(_request, response) => void response.end('ä', 'latin1'), 1],
    [(_request, response) => void response.end(Buffer.alloc(70_000)), 70_000],
    [(_request, response) => void response.end(() => {}), 0],
    [(_request, response) => void response.end('abc', () => {}), 3],
    [(_request, response) => void response.end(), 0],
    [
      (_request, response) => {
        response.write('ab')
        response.write(new Uint8Array(3))
        response.end('c', 'utf8')
      },
      6,
    ],
    [(_request, response) => void response.writeHead(204).end(), 0],
    [(_request, response) => void response.writeHead(304).end('x'), 0],
  ]
  for (const [answer, expected] of answers) {
    const { counts } = await counted(t, answer)
    assert.deepEqual(counts, [expected])
  }
})

test('a large body is sent whole, in parts, and nothing comes between them', async (t) => {
  const body = Buffer.from(Array.from({ length: 300_001 }, (_, index) => index % 251))
  const head = { 'content-length': body.length }
  const ways: readonly RequestListener[] = [
    (_request, response) => void response.writeHead(200, head).end(body),
    (_request, response) => void response.writeHead(200, head).end(body.toString('latin1'), 'latin1'),
    (_request, response) => {
      response.writeHead(200, head).end(body)
      response.write('between')
      response.end('again')
    },
  ]
  for (const answer of ways) {
    const { counts, sent } = await counted(t, answer)
    const [, received = ''] = sent.split('\r\n\r\n')
    assert.equal(received, body.toString('latin1'))
    assert.deepEqual(counts, [body.length])
  }
  const chunked = await counted(t, (_request, response) => void response.writeHead(200).end(body))
  assert.match(chunked.sent, /transfer-encoding: chunked/i)
  assert.deepEqual(chunked.counts, [body.length])
})

test('a HEAD counts no body bytes, and each response of a connection is counted alone, also when requests are pipelined', async (t) => {
  const { counts, sent } = await counted(t, (request, response) => void response.end(request.method), [
    'GET',
    'HEAD',
    'PUT',
    'DELETE',
  ])
  assert.deepEqual(counts, [3, 0, 3, 6])
  assert.equal(sent.split('HTTP/1.1 200').length, 5)
})
