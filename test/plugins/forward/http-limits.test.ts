import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, createServer } from 'node:net'
import { test } from 'node:test'
import { Authenticator } from 'sallyport'
import { LONGEST_WAIT } from 'sallyport/toolkit'
import { serving } from '#kit/booted.js'
import { listening, opened } from '#kit/listening.js'
import { listen, providing } from '#kit/plugin.js'
import { dial, sendRaw } from '#kit/raw.js'
import { call, openRequest, proxied, send, targetRoute } from './proxied.js'
import { answerTo, rawTarget } from './raw-target.js'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'

test('a body over the limit gets a 413, with a length or chunked, and never reaches the target whole', async (t) => {
  const target = await rawTarget(t, () => OK)
  const { main } = await proxied(t, target.origin, { maxBody: 1000 })
  const body = 'x'.repeat(1001)

  assert.equal((await send(main, { method: 'POST', body })).status, 413)
  assert.equal(
    (await send(main, { method: 'POST', body, headers: { 'transfer-encoding': 'chunked' } })).status,
    413,
  )
  assert.equal(target.seen.length, 0)
  assert.equal((await send(main, { method: 'POST', body: body.slice(1) })).status, 200)
  assert.equal(target.seen[0]?.body.length, 1000)
})

test('a body that stalls gets a 408, buffered or streamed, and the gateway aborts its request to the target (T16)', async (t) => {
  const target = await rawTarget(t, () => OK)
  const { main } = await proxied(t, target.origin, { bodyTimeout: 200 })

  for (const framing of ['Content-Length: 9', 'Content-Length: 9000000', 'Transfer-Encoding: chunked']) {
    const bytes = `POST / HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n1\r\n`
    assert.match(await sendRaw(main, bytes), /^HTTP\/1.1 408 [\s\S]*connection: close/i, framing)
  }
  assert.deepEqual(target.seen, [])
})

test('a body in two packets, the first with the head, arrives whole', async (t) => {
  const target = await rawTarget(t, () => OK)
  const { main } = await proxied(t, target.origin)
  const { port } = new URL(main)
  const caller = connect(Number(port), '127.0.0.1').setNoDelay(true)
  t.after(() => caller.destroy())

  caller.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc')
  setTimeout(() => caller.write('def'), 50)
  const [answer] = await once(caller, 'data')
  assert.match(String(answer), /^HTTP\/1.1 200 /)
  assert.equal(String(target.seen[0]?.body), 'abcdef')
})

test('the gateway refuses endless headers (T16)', async (t) => {
  const target = await rawTarget(t, () => OK)
  const { main } = await proxied(t, target.origin)
  const long = `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`
  assert.match(await sendRaw(main, long), /^HTTP\/1.1 431 /)
})

test('no timeout may be longer than a timer can wait', async (t) => {
  const origin = await listening(t, (request, response) => {
    request.resume()
    setTimeout(() => response.end(), 50)
  })
  const { main } = await proxied(t, origin, { targetTimeout: LONGEST_WAIT })
  const streamed = { ...call('w'), headers: { 'transfer-encoding': 'chunked' } }

  assert.equal((await send(main, call('q'))).status, 200)
  assert.equal((await send(main, streamed)).status, 200)
  for (const option of ['targetTimeout', 'bodyTimeout'])
    await assert.rejects(proxied(t, origin, { [option]: LONGEST_WAIT + 1 }), new RegExp(option))
})

test('a target that does not begin its response causes a 504 on both transports, except for an event stream', async (t) => {
  const origin = await listening(t, (request, response) => {
    request.resume()
    if (request.headers.accept === 'text/event-stream') setTimeout(() => response.end('late'), 1500)
  })
  const { main } = await proxied(t, origin, { targetTimeout: 300 })

  const [buffered, streaming, stream] = await Promise.all([
    send(main, call('q')),
    send(main, { ...call('w'), headers: { 'transfer-encoding': 'chunked' } }),
    send(main, { headers: { accept: 'text/event-stream' } }),
  ])
  assert.deepEqual([buffered.status, JSON.parse(buffered.body).id], [504, 'q'])
  assert.deepEqual([streaming.status, JSON.parse(streaming.body).id], [504, null])
  assert.deepEqual([stream.status, stream.body], [200, 'late'])
})

test('a response that has begun may pause for longer than the timeout', async (t) => {
  const origin = await listening(t, (_request, response) => {
    response.write('one ')
    setTimeout(() => response.end('two'), 700)
  })
  const { main } = await proxied(t, origin, { targetTimeout: 100 })
  assert.equal((await send(main, call(1))).body, 'one two')
})

// Through a proxy, the first of these would be an error of the proxy.
test('the error for a failed target shows a class, and no address', {
  skip: !targetRoute.isDirect,
}, async (t) => {
  const silent = await opened(
    t,
    createServer((socket) => socket.destroy()),
  )
  const babble = await rawTarget(t, () => 'SMTP ready\r\nContent-Length: 0\r\n\r\n')
  const twice = 'Content-Length: 2\r\n'
  const lengths = await rawTarget(t, () => `HTTP/1.1 200 OK\r\n${twice}${twice}\r\n{}`)
  const plain = await listening(t, (_request, response) => response.end())
  const cases: readonly (readonly [string, string])[] = [
    ['http://127.0.0.1:1', 'target_refused'],
    ['http://nowhere.invalid', 'target_dns'],
    [`http://127.0.0.1:${silent.port}`, 'target_reset'],
    [babble.origin, 'target_malformed'],
    [lengths.origin, 'target_malformed'],
    [plain.replace('http:', 'https:'), 'target_tls'],
  ]
  for (const [target, code] of cases) {
    const { main } = await proxied(t, target)
    for (const asked of [call(1), { ...call(1), headers: { 'transfer-encoding': 'chunked' } }]) {
      const { status, body } = await send(main, asked)
      assert.deepEqual([status, JSON.parse(body).error.data.error], [502, code])
      assert.doesNotMatch(body, /127\.0\.0\.1|invalid|ECONN|:\d{2,}/)
    }
    const { status, body } = await send(main)
    assert.deepEqual([status, JSON.parse(body).error], [502, code])
  }
})

test('a truncated response is truncated for the caller too', async (t) => {
  const target = await rawTarget(t, (_message, socket) => {
    setTimeout(() => socket.destroy(), 20)
    return 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'
  })
  const { main } = await proxied(t, target.origin)
  for (const asked of [call(1), { ...call(1), headers: { 'transfer-encoding': 'chunked' } }]) {
    const response = await openRequest(main, asked)
    await assert.rejects(async () => {
      for await (const _ of response);
    })
  }
})

test('the gateway never forwards two framings of a body, a malformed header or another coding (T13)', async (t) => {
  const target = await rawTarget(t, () => OK)
  const { main } = await proxied(t, target.origin)
  const bad = [
    'Content-Length: 1\r\nContent-Length: 2',
    'Content-Length: 3\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: xchunked',
    'Content-Length: +3',
    'Content-Length : 3',
    'X-A: b\r\n folded',
    'X-A: a\x00b',
    'X-A: a\rX-B: c',
    'X A: b',
  ]
  for (const header of bad) {
    const answer = await sendRaw(
      main,
      `POST / HTTP/1.1\r\nHost: a\r\n${header}\r\nConnection: close\r\n\r\n0\r\n\r\n`,
    )
    assert.match(answer, /^HTTP\/1.1 (?:400|501) /, header)
  }
  assert.deepEqual(target.seen, [])
})

test('Connection cannot remove headers that frame the message, credentials or added headers (T13)', async (t) => {
  const target = await rawTarget(t, () => OK)
  const { main } = await proxied(t, target.origin, {}, [
    { use: 'credential/static-bearer', with: { token: 'mine' } },
    { use: 'headers/static', with: { headers: [{ name: 'X-Tenant', value: 'one' }] } },
  ])
  await answerTo(
    main,
    'POST / HTTP/1.1\r\nHost: a\r\nConnection: authorization, x-tenant, host, content-length, x-hop\r\nX-Hop: 1\r\nContent-Length: 2\r\n\r\nhi',
  )
  const [seen] = target.seen
  const names = new Map(seen?.headers.map(([name, value]) => [name.toLowerCase(), value]))
  assert.equal(names.get('authorization'), 'Bearer mine')
  assert.equal(names.get('x-tenant'), 'one')
  assert.equal(names.get('x-hop'), undefined)
  assert.equal(seen?.body, 'hi')
})

test('a caller that disconnects cancels its request, on both transports', async (t) => {
  for (const framing of ['Content-Length: 2\r\n\r\nhi', 'Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n']) {
    const events = new EventEmitter()
    const origin = await listening(t, (request, response) => {
      request.resume()
      response.on('close', () => events.emit('left'))
      events.emit('here')
    })
    const { main } = await proxied(t, origin)
    const [here, left] = [once(events, 'here'), once(events, 'left')]
    const socket = dial(main)
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${framing}`)
    await here
    socket.destroy()
    await left
  }
})

/** An authenticator that decides when the test says so. */
function delayedAuthenticator() {
  const events = new EventEmitter()
  const deciding = providing('deciding', Authenticator, {
    provider: 'deciding',
    async authenticate({ raw }) {
      const decided = once(events, 'decide')
      events.emit('asked', raw)
      await decided
      return { identity: { provider: 'deciding', subject: 'anybody', claims: {} } }
    },
  })
  return { entry: deciding, events }
}

for (const [name, bytes] of [
  ['a stream', 'GET /left HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n'],
  ['a call', 'POST /left HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi'],
] as const) {
  test(`the request of a client that disconnected during authentication is not forwarded: ${name}`, async (t) => {
    const target = await rawTarget(t, () => OK)
    const { entry, events } = delayedAuthenticator()
    const list = [entry, listen, { use: 'forward/http', with: { target: target.origin } }]
    const { main = '' } = (await serving(t, list)).addresses

    const first = once(events, 'asked')
    const socket = dial(main)
    socket.write(bytes)
    const [raw]: IncomingMessage[] = await first
    socket.destroy()
    if (raw?.socket.destroyed === false) await once(raw.socket, 'close')
    events.emit('decide')

    const second = once(events, 'asked')
    const answer = send(main, { path: '/stayed' })
    await second
    events.emit('decide')
    assert.equal((await answer).status, 200)
    assert.deepEqual(
      target.seen.map(({ line }) => line),
      ['GET /stayed HTTP/1.1'],
    )
  })
}

test('the caller gets 100 Continue when the target sends it, and not after a response', async (t) => {
  const target = await rawTarget(t, () => OK)
  const { main } = await proxied(t, target.origin)
  const socket = dial(main)
  let heard = ''
  socket.on('data', (chunk) => {
    heard += chunk
  })
  socket.write(
    'POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n',
  )
  socket.write('hi')
  await once(socket, 'close')
  assert.match(heard, /^HTTP\/1.1 200/)
  assert.ok(target.seen[0]?.headers.some(([name]) => name === 'Expect'))

  const asking100 = await listening(t, (request, response) =>
    request.resume().on('end', () => response.end('done')),
  )
  const second = await proxied(t, asking100)
  const patient = dial(second.main)
  let told = ''
  patient.on('data', (chunk) => {
    told += chunk
    if (told === 'HTTP/1.1 100 Continue\r\n\r\n') patient.write('hi')
  })
  patient.write(
    'POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n',
  )
  await once(patient, 'close')
  assert.match(told, /100 Continue\r\n\r\nHTTP\/1.1 200[\s\S]*done$/)
})
