import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Policy } from 'sallyport'
import { eventually } from '#kit/captured-log.js'
import { listening } from '#kit/listening.js'
import { dial } from '#kit/raw.js'
import { policy } from './hiding.js'
import { observing } from './observing.js'
import { call, openRequest, proxied, send } from './proxied.js'
import { rawTarget } from './raw-target.js'

const LIST = '{"result":{"tools":[{"name":"x"}]}}'
const MIB = 1024 ** 2
const STREAM = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n'

async function filtered(
  t: TestContext,
  target: string,
  { shows, ...options }: { shows?: Policy['shows']; targetTimeout?: number } = {},
): Promise<string> {
  return (await proxied(t, target, options, [policy(shows)])).main
}

/**
 * The error code that the caller of a POST gets, alone or as the last event, or that its connection was cut off.
 */
async function outcome(main: string, path: string): Promise<string> {
  try {
    const { status, body } = await send(main, { ...call(7), path })
    assert.ok(!body.includes('"x"'), body)
    const answer = JSON.parse(body.replace(/^.*^data: /ms, ''))
    assert.equal(answer.id, 7)
    return `${status} ${answer.error?.data?.error}`
  } catch (error) {
    return `closed ${(error as NodeJS.ErrnoException).code}`
  }
}

const response = (head: string, body: string | Buffer = LIST): string => {
  const text = typeof body === 'string' ? body : body.toString('latin1')
  return `HTTP/1.1 ${head}Content-Length: ${text.length}\r\n\r\n${text}`
}

test('a response that the gateway cannot read with certainty becomes a 502, and the gateway goes on', async (t) => {
  const malformed = '502 response_malformed'
  const encoded = '502 response_encoded'
  const partial = '502 response_partial'
  const cases: readonly (readonly [answer: string, expected: string])[] = [
    [response('200 OK\r\nContent-Encoding: gzip\r\n', gzipSync(LIST)), encoded],
    [response('200 OK\r\nContent-Encoding: identity, br\r\n'), encoded],
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\na\r\n0\r\n\r\n', encoded],
    [response('206 Partial Content\r\nContent-Range: bytes 0-1/9\r\n'), partial],
    [response('226 IM Used\r\n'), partial],
    ['HTTP/1.1 304 Not Modified\r\n\r\n', partial],
    [response('200 OK\r\n', LIST.slice(0, -1)), malformed],
    [response('200 OK\r\n', Buffer.from(LIST, 'utf16le')), malformed],
    [response('200 OK\r\n', Buffer.from(LIST, 'utf16le').swap16()), malformed],
    [response('200 OK\r\n', Buffer.from(`\ufeff${LIST}`, 'utf16le')), malformed],
    [response('200 OK\r\n', Buffer.from(`["\xff",${LIST}]`, 'latin1')), malformed],
    [response('200 OK\r\n', `\n\n${LIST}//`), malformed],
    [response('200 OK\r\n', '[NaN]'), malformed],
    [response('200 OK\r\nContent-Type: application/json\r\nContent-Type: text/event-stream\r\n'), malformed],
    [response('200 OK\r\nContent-Type: a/b;text/event-stream\r\n'), malformed],
    [`HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n${LIST}`, '502 target_reset'],
    [`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n`, '502 target_reset'],
    ...['\v', '\f', '\u00a0', '\u2028', '\ufeff\ufeff'].map(
      (space) => [response('200 OK\r\n', Buffer.from(space + LIST)), malformed] as const,
    ),
    [`${STREAM}\r\n${LIST}\n\n`, '200 response_malformed'],
    [`${STREAM}\r\ndata: ${LIST},\n\n`, '200 response_malformed'],
    [`${STREAM}\r\ndata: ${LIST},`, '200 response_malformed'],
    [`${STREAM}\r\n${LIST}`, '200 response_malformed'],
    [`${STREAM}Content-Encoding: gzip\r\n\r\n`, encoded],
  ]
  const target = await rawTarget(t, ({ line }, socket) => {
    const answer = cases[Number(line.split(' ')[1]?.slice(1))]?.[0]
    if (answer?.includes('99\r\n') === true || answer?.endsWith('{"a":\r\n') === true) {
      socket.end(answer)
      return undefined
    }
    return answer
  })
  const main = await filtered(t, target.origin)

  for (const [index, [answer, expected]] of cases.entries()) {
    assert.equal(await outcome(main, `/${index}`), expected, answer)
  }
})

test('a policy that fails causes a 503 before the response, or ends a running stream with an error event', async (t) => {
  const target = await rawTarget(t, ({ line }) =>
    line.includes('/sse') ? `${STREAM}\r\ndata: 1\n\ndata: ${LIST}\n\n` : response('200 OK\r\n'),
  )
  const failing: readonly (() => never)[] = [
    () => {
      throw new Error('broken')
    },
    () => Promise.reject(new Error('broken')) as never,
    () => [1] as never,
  ]
  for (const shows of failing) {
    const { main, lines } = await proxied(t, target.origin, {}, [policy(shows)])
    const logged = (): number => lines.filter(({ code }) => code === 'POLICY_UNAVAILABLE').length
    assert.equal(await outcome(main, '/'), '503 policy_unavailable')
    assert.equal(logged(), 1)
    assert.equal(await outcome(main, '/sse'), '200 policy_unavailable')
    assert.equal(logged(), 2)
  }
})

test('the stream of a client that waits for no single answer, or has unread events, is cut off', async (t) => {
  const many = `{"result":{"tools":[${`{"name":"a","title":"${'y'.repeat(300)}"},`.repeat(27_000)}{"name":"x"}]}}`
  const origin = await listening(t, (request, answer) => {
    request.resume()
    answer.setHeader('content-type', 'text/event-stream')
    const first = request.url === '/large' ? many : '1'
    answer.end(`data: ${first}\n\ndata: [\n\n`)
  })
  const { entry, eventsOf } = observing(false)
  const { main } = await proxied(t, origin, {}, [policy(), entry])
  const { headers = {}, body } = call(7)
  const batch = { method: 'POST', headers, body: `[${body},${body}]` }

  assert.equal(await outcome(main, '/'), '200 response_malformed')
  for (const options of [{ path: '/' }, { ...batch, path: '/' }, { ...call(7), path: '/large' }]) {
    await assert.rejects(send(main, options), { code: 'ECONNRESET' })
  }
  const events = await eventsOf(5)
  const cutOff = 'failed response_malformed aborted'
  assert.deepEqual(
    events.map(({ outcome, causes = [] }) => [outcome, ...causes].join(' ')),
    ['failed response_malformed', cutOff, cutOff, cutOff, cutOff],
  )
})

const size = 13 * MIB

/** A target that sends a part of a body or of an event, and never ends it. */
function stalling(t: TestContext): Promise<string> {
  return listening(t, (request, answer) => {
    request.resume()
    const { url = '' } = request
    if (url.startsWith('/whole')) {
      answer.end(`{"a":"${'y'.repeat(15 * MIB)}"}`)
      return
    }
    if (url.startsWith('/sse')) answer.setHeader('content-type', 'text/event-stream')
    answer.write(`data: ${' '.repeat(size)}`.slice(url.startsWith('/sse') ? 0 : 6))
    answer.on('error', () => {})
  })
}

const isServed = async (main: string): Promise<boolean> =>
  (await send(main, { ...call(1), path: '/whole' })).status === 200

test('a target that stalls cannot hold its share of the memory for ever', async (t) => {
  const main = await filtered(t, await stalling(t), { targetTimeout: 2_000 })

  assert.deepEqual(await Promise.all(['/1', '/2', '/sse', '/sse'].map((path) => outcome(main, path))), [
    ...['504 target_timeout', '504 target_timeout', '200 target_timeout', '200 target_timeout'],
  ])
  await eventually(() => isServed(main))
})

test('when the memory is full a response is refused, and a caller that disconnects frees its share', async (t) => {
  const main = await filtered(t, await stalling(t))
  // Four responses fit. The order of arrival decides which one is refused; the head of a stream is sent at once.
  const refusal = (path: string, socket: Socket): Promise<string> =>
    new Promise((resolve) => {
      if (path === '/sse') socket.resume().once('close', () => resolve('closed'))
      else socket.once('data', (head) => resolve(String(head).slice(9, 12)))
    })

  for (let round = 1; round <= 3; round++) {
    const all = ['/1', '/2', '/3', '/4', '/sse'].map((path) => {
      const socket = dial(main).on('error', () => {})
      socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
      return { socket, refused: refusal(path, socket) }
    })
    const first = await Promise.race(all.map(({ refused }) => refused))
    assert.ok(['503', 'closed'].includes(first), first)
    const left = all.map(({ socket }) => socket).filter(({ destroyed }) => !destroyed)
    await Promise.all(left.map((socket) => once(socket.destroy(), 'close')))
    await eventually(() => isServed(main))
  }
})

test('a message of more than 16 MiB is refused, one of 16 MiB is not', async (t) => {
  const origin = await listening(t, (request, answer) => {
    const [, kind, more] = (request.url ?? '').split('/')
    request.resume()
    if (kind === 'sse') answer.setHeader('content-type', 'text/event-stream')
    const text = `${kind === 'sse' ? 'data:' : ''}{"a":"é`
    const end = kind === 'sse' ? '"}\n\n' : '"}'
    const length = 16 * MIB - Buffer.byteLength(text) - end.length + Number(more)
    answer.end(`${text}${'y'.repeat(length)}${end}`)
  })
  const main = await filtered(t, origin)

  for (const kind of ['json', 'sse']) {
    const whole = await openRequest(main, { ...call(1), path: `/${kind}/0` })
    let length = 0
    for await (const chunk of whole) length += chunk.length
    assert.equal(length, 16 * MIB)
  }
  assert.equal(await outcome(main, '/json/1'), '502 response_too_large')
  assert.equal(await outcome(main, '/sse/1'), '200 response_too_large')
})

test('ten callers that do not read delay no other caller', async (t) => {
  const items = `${`{"name":"a","title":"${'y'.repeat(300)}"},`.repeat(27_000)}{"name":"x"}`
  const list = `{"result":{"tools":[${items}]}}`
  const origin = await listening(t, (request, answer) => {
    request.resume()
    if (request.url !== '/sse') answer.end(list)
    else answer.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${list}\n\ndata: {`)
  })
  const main = await filtered(t, origin)
  for (let index = 0; index < 10; index++) {
    const socket = dial(main)
    t.after(() => socket.destroy())
    socket.write(`GET ${index % 2 === 0 ? '/sse' : '/'} HTTP/1.1\r\nHost: a\r\n\r\n`)
    await once(socket, 'readable')
    assert.match(String(socket.read()), /^HTTP\/1.1 200 OK\r\n/)
  }

  const served = await send(main, { ...call(1), path: '/' })
  assert.equal(JSON.parse(served.body).result.tools.length, 27_000)
})

test('a caller that disconnects while the policy decides ends the decision and the connection to the target', async (t) => {
  const open = new Set<ServerResponse>()
  const origin = await listening(t, (request, answer) => {
    if (request.url === '/ok') {
      answer.end('ok')
      return
    }
    open.add(answer)
    answer.on('close', () => open.delete(answer))
    answer.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: 1\n\ndata: ${LIST}\n\n`)
  })
  let asked = 0
  let answerNow: () => void = () => {}
  const shows: Policy['shows'] = (_caller, listed) => {
    asked++
    return new Promise((resolve) => {
      answerNow = () => resolve(listed.map(() => true))
    })
  }
  const main = await filtered(t, origin, { shows })

  const stream = await openRequest(main, { headers: { accept: 'text/event-stream' } })
  stream.on('error', () => {})
  await eventually(() => asked === 1)
  stream.destroy()
  await eventually(() => open.size === 0)
  answerNow()
  assert.equal((await send(main, { path: '/ok' })).body, 'ok')
  assert.equal(asked, 1)
})
