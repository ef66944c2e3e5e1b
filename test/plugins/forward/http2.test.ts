import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream, sensitiveHeaders } from 'node:http2'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { Credential, type Labels, Telemetry } from 'sallyport'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { fakeClock } from '#kit/fake-clock.js'
import { folder } from '#kit/folder.js'
import { listening, opened } from '#kit/listening.js'
import { listen, providing } from '#kit/plugin.js'
import { dial, sendRaw } from '#kit/raw.js'
import { authority, type Identity, tlsListening } from '#kit/tls.js'
import { variables } from '#kit/variables.js'
import { policy } from './hiding.js'
import { beforeHttp2, http2Target } from './http2-target.js'
import { call, openRequest, renewed, send } from './proxied.js'

const JSON_TYPE = { 'content-type': 'application/json' }

/** A gateway before a target with this handler of streams. */
const answering = (
  t: TestContext,
  answer: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => unknown,
  given: Parameters<typeof beforeHttp2>[2] = {},
) =>
  beforeHttp2(
    t,
    (server) =>
      server.on('stream', (stream, headers) => {
        stream.on('error', () => {})
        answer(stream, headers)
      }),
    given,
  )

const errorOf = ({ status, body }: { status: number; body: string }): unknown[] => {
  const { error } = JSON.parse(body)
  return [status, error.data?.error ?? error]
}

test('method, path, headers and credential reach the target, and its response reaches the caller', async (t) => {
  const seen: { headers: IncomingHttpHeaders; body: string }[] = []
  const credential = providing('fixed', Credential, {
    name: 'fixed',
    present: () => ({ header: 'Authorization', value: 'Bearer ours', accessToken: 'ours' }),
  })
  const added = { use: 'headers/static', with: { headers: [{ name: 'X-Added', value: 'yes' }] } }
  const { main, target } = await answering(
    t,
    async (stream, headers) => {
      seen.push({ headers, body: await text(stream) })
      stream.respond(
        { ':status': 201, 'mcp-session-id': 's', 'x-many': ['1', '2'], 'x-latin': '\xe9', trailer: 'x-sum' },
        { waitForTrailers: true },
      )
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': 'all' }))
      stream.end('{"ok":true}')
    },
    { more: [credential, added], options: { forwardedHeaders: true } },
  )
  const body = call(1).body ?? ''
  const sent = await sendRaw(
    main,
    `POST /a%2Fb//c?x=1&x=?2 HTTP/1.1\r\nHost: gateway.test\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\nAuthorization: Bearer theirs\r\nCookie: a=b\r\nMcp-Session-Id: s\r\n` +
      `X-Twice: 1\r\nX-Latin: \xe9\r\nX-Twice: 2\r\nTE: trailers\r\n\r\n${body}`,
  )

  const [one] = seen
  assert.equal(one?.body, body)
  const { 'x-forwarded-for': address, forwarded, 'x-forwarded-host': host, ...headers } = one.headers
  Reflect.deleteProperty(headers, sensitiveHeaders)
  assert.deepEqual(
    { ...headers },
    {
      ':method': 'POST',
      ':path': '/a%2Fb//c?x=1&x=?2',
      ':authority': new URL(target).host,
      ':scheme': 'https',
      ...JSON_TYPE,
      'content-length': String(body.length),
      'mcp-session-id': 's',
      'x-twice': '1, 2',
      'x-latin': '\xe9',
      authorization: 'Bearer ours',
      'x-added': 'yes',
      'x-forwarded-proto': 'http',
    },
  )
  assert.deepEqual([address, host], ['127.0.0.1', 'gateway.test'])
  assert.match(String(forwarded), /^for=127\.0\.0\.1;/)

  assert.match(sent, /^HTTP\/1\.1 201 Created\r\n/)
  for (const line of ['mcp-session-id: s', 'x-many: 1, 2', 'x-latin: \xe9', 'trailer: x-sum', 'x-sum: all'])
    assert.ok(sent.includes(`\r\n${line}\r\n`), `${line} in ${sent}`)
  assert.match(sent, /\r\n\{"ok":true\}\r\n/)
})

test('a credential that the target refuses is renewed, and the body is sent again', async (t) => {
  const bodies: string[] = []
  const { main } = await answering(
    t,
    async (stream, { authorization }) => {
      bodies.push(await text(stream))
      stream.respond({ ':status': authorization === 'Bearer 2' ? 200 : 401 })
      stream.end('done')
    },
    { more: [renewed] },
  )
  const large = 'x'.repeat(300_000)
  assert.equal((await send(main, { ...call(1), body: large })).body, 'done')
  assert.deepEqual(bodies, [large, large])
})

test('this forwarder filters lists too', async (t) => {
  const list = (names: string) => `{"jsonrpc":"2.0","id":1,"result":{"tools":[${names}]}}`
  const { main } = await answering(
    t,
    (stream) => {
      stream.respond({ 'content-type': 'application/json' })
      stream.end(list('{"name":"a"}, {"name":"x"}'))
    },
    { more: [policy()] },
  )
  assert.equal((await send(main, call(1))).body, list('{"name":"a"}'))
})

const identities: Readonly<
  Record<string, (trusted: ReturnType<typeof authority>, t: TestContext) => Identity>
> = {
  'of an authority that is not trusted': (_trusted, t) => authority(t).issue(['127.0.0.1']),
  'for another name': (trusted) => trusted.issue(['other.test']),
  'that has expired': (trusted) => trusted.issue(['127.0.0.1'], -1),
}
for (const [what, issue] of Object.entries(identities)) {
  test(`a certificate ${what} is refused, and the target gets no request`, async (t) => {
    const trusted = authority(t)
    let asked = 0
    const { target } = await http2Target(
      t,
      (server) =>
        server.on('stream', (stream) => {
          asked++
          stream.on('error', () => {}).respond()
          stream.end()
        }),
      issue(trusted, t),
    )
    const { addresses } = await serving(t, [
      listen,
      { use: 'auth/anonymous' },
      { use: 'forward/http2', with: { target, targetCaCert: trusted.file } },
    ])
    for (let sent = 0; sent < 2; sent++)
      assert.deepEqual(errorOf(await send(addresses.main ?? '', call(1))), [502, 'target_tls'])
    assert.equal(asked, 0)
  })
}

test('a target without HTTP/2 is refused, with ALPN and without', async (t) => {
  const ca = authority(t)
  const identity = ca.issue(['127.0.0.1'])
  const refusing = await tlsListening(t, identity, (_request, response) => response.end())
  let heard = ''
  const ignoring = createTlsServer(identity, (socket) => {
    socket
      .on('error', () => {})
      .on('data', (chunk) => {
        heard += String(chunk)
      })
  })
  for (const port of [refusing, (await opened(t, ignoring)).port]) {
    const { addresses } = await serving(t, [
      listen,
      { use: 'auth/anonymous' },
      { use: 'forward/http2', with: { target: `https://127.0.0.1:${port}`, targetCaCert: ca.file } },
    ])
    assert.deepEqual(errorOf(await send(addresses.main ?? '', call(1))), [502, 'target_tls'])
  }
  assert.doesNotMatch(heard, /jsonrpc/)
})

test('the target gets a new certificate with the next request', async (t) => {
  const ca = authority(t)
  const place = folder(t)
  const files = { targetClientCert: join(place, 'c.pem'), targetClientKey: join(place, 'c.key') }
  const write = ({ cert, key }: Identity): void => {
    writeFileSync(files.targetClientKey, key, { mode: 0o600 })
    writeFileSync(files.targetClientCert, cert)
  }
  write(ca.issue(['client']))
  const { main } = await answering(
    t,
    (stream) => {
      const socket = stream.session?.socket as TLSSocket
      stream.respond()
      stream.end(socket.getPeerCertificate().serialNumber)
    },
    { options: files, server: { requestCert: true, ca: ca.certificate, rejectUnauthorized: false } },
  )
  const first = (await send(main)).body
  assert.equal((await send(main)).body, first)

  write(ca.issue(['client']))
  await eventually(async () => ![first, ''].includes((await send(main)).body))
})

const large = Buffer.alloc(8 * 1024 * 1024, 'abcdefghijklmnop')
const framings: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'with its length': {},
  'in chunks': { 'transfer-encoding': 'chunked' },
  'after Expect': { expect: '100-continue' },
}
for (const [how, headers] of Object.entries(framings)) {
  test(`a large body ${how} reaches the target, and a large response its caller`, async (t) => {
    const { main } = await answering(t, (stream) => {
      stream.respond()
      stream.pipe(stream)
    })
    const response = await openRequest(main, { method: 'POST', headers, body: large })
    assert.ok(Buffer.concat(await response.toArray()).equals(large))
  })
}

test('events pass as they come, and a caller that disconnects cancels the stream without a log line', async (t) => {
  const seen = new EventEmitter()
  const { main, lines } = await answering(
    t,
    (stream, { ':path': path }) => {
      stream.on('close', () => seen.emit('closed', stream.rstCode))
      seen.emit('asked')
      if (path === '/silent') return
      stream.respond({ 'content-type': 'text/event-stream; charset=utf-8' })
      stream.write('data: 1\n\n')
    },
    { options: { targetTimeout: 200 } },
  )
  const headers = { accept: 'text/event-stream' }
  const events = await openRequest(main, { headers })
  assert.equal(String((await once(events, 'data'))[0]), 'data: 1\n\n')
  // Longer than the target may take for its head.
  await new Promise((resolve) => setTimeout(resolve, 400))
  const left = once(seen, 'closed')
  events.destroy()
  assert.deepEqual(await left, [constants.NGHTTP2_CANCEL])

  const [asked, leftEarly] = [once(seen, 'asked'), once(seen, 'closed')]
  const caller = httpRequest(main, { path: '/silent', headers }).on('error', () => {})
  caller.end()
  await asked
  caller.destroy()
  assert.deepEqual(await leftEarly, [constants.NGHTTP2_CANCEL])
  const told = lines.filter(({ level, err }) => err !== undefined || level === 'error')
  assert.deepEqual(told, [])
})

test('a stream that the target resets becomes a 502 or is cut off; a body of the announced length is complete', async (t) => {
  const { main } = await answering(t, (stream, { ':path': path = '', ':method': method }) => {
    const [, how, length] = path.split('/')
    if (how === 'head') {
      stream.close(constants.NGHTTP2_INTERNAL_ERROR)
      return
    }
    stream.respond({ ...(length !== undefined && { 'content-length': Number(length) }) })
    if (method === 'HEAD') stream.end()
    else
      stream.write('part', () => {
        if (how === 'gone') stream.session?.destroy()
        else stream.destroy(how === 'error' ? new Error('failed') : undefined)
      })
  })
  assert.deepEqual(errorOf(await send(main, { ...call(1), path: '/head' })), [502, 'target_reset'])
  assert.deepEqual(errorOf(await send(main, { path: '/short/100' })), [502, 'target_reset'])
  for (const path of ['/short/1000000', '/gone', '/gone/1000000', '/error', '/error/1000000']) {
    const response = await openRequest(main, { path })
    await assert.rejects(response.toArray(), { code: 'ECONNRESET' }, path)
  }
  assert.equal((await send(main, { path: '/gone/4' })).body, 'part')
  assert.equal((await send(main, { path: '/short/100', method: 'HEAD' })).status, 200)
})

for (const [code, answers] of [
  [constants.NGHTTP2_NO_ERROR, true],
  [constants.NGHTTP2_INTERNAL_ERROR, false],
] as const) {
  test(`after a GOAWAY with code ${code} the next request has another connection`, async (t) => {
    const sessions = new Set<unknown>()
    const { main, lines } = await answering(t, (stream, { ':path': path }) => {
      sessions.add(stream.session)
      if (path === '/last') stream.session?.goaway(code)
      if (path === '/last' && !answers) return
      stream.respond()
      stream.end('x')
    })
    assert.equal((await send(main)).body, 'x')
    const last = await send(main, { ...call(1), path: '/last' })
    if (answers) assert.equal(last.body, 'x')
    else assert.deepEqual(errorOf(last), [502, 'target_reset'])
    assert.equal((await send(main)).body, 'x')
    assert.equal(sessions.size, 2)
    assert.equal(lines.filter(({ msg }) => msg === 'response errored').length, 0)
  })
}

test('a lost connection is opened again', async (t) => {
  const { main, sockets } = await answering(t, (stream) => {
    stream.respond()
    stream.end('x')
  })
  assert.equal((await send(main)).body, 'x')
  for (const socket of sockets) socket.destroy()
  await eventually(() => sockets.size === 0)
  await eventually(async () => (await send(main)).body === 'x')
})

test('the timeout applies to the head alone, and not while the caller is slow', async (t) => {
  const { main } = await answering(
    t,
    (stream, { ':path': path }) => {
      if (path === '/silent') return
      stream.resume().on('end', () => {
        stream.respond()
        stream.write('first')
        setTimeout(() => stream.end(' last'), 600)
      })
    },
    { options: { targetTimeout: 300 } },
  )
  assert.deepEqual(errorOf(await send(main, { ...call(1), path: '/silent' })), [504, 'target_timeout'])
  const slow = httpRequest(main, { method: 'POST' })
  const response = once(slow, 'response')
  slow.write('x')
  await new Promise((resolve) => setTimeout(resolve, 600))
  slow.end('y')
  assert.equal(await text((await response)[0]), 'first last')
})

test('a connection without a response to a ping is closed', async (t) => {
  const clock = fakeClock(t)
  const { target, ca } = await http2Target(t, (server) =>
    server.on('stream', (stream) => {
      stream.respond()
      stream.end('x')
    }),
  )
  const relayed: Socket[] = []
  const relay = createServer((near) => {
    const far = dial(target.replace('https:', 'http:'))
    far.on('error', () => {}).on('close', () => near.destroy())
    near.on('error', () => {}).on('close', () => far.destroy())
    near.pipe(far).pipe(near)
    relayed.push(near)
  })
  const { port } = await opened(t, relay)
  const { addresses } = await serving(t, [
    listen,
    { use: 'auth/anonymous' },
    {
      use: 'forward/http2',
      with: { target: `https://127.0.0.1:${port}`, targetCaCert: ca.file, targetTimeout: 300 },
    },
  ])
  const main = addresses.main ?? ''
  assert.equal((await send(main)).body, 'x')
  for (const near of relayed) near.unpipe().pause()

  // Node's own timer of streams goes on.
  assert.deepEqual(errorOf(await send(main, call(1))), [504, 'target_timeout'])
  await clock.advance(10_000)
  assert.equal((await send(main)).body, 'x')
  assert.equal(relayed.length, 2)
})

test('a 503 is passed on, and the request is not repeated', async (t) => {
  let asked = 0
  const { main } = await answering(t, (stream) => {
    asked++
    stream.respond({ ':status': 503 })
    stream.end('full')
  })
  assert.equal((await send(main)).status, 503)
  assert.equal(asked, 1)
})

const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'eA==' }
const unsupported: readonly Parameters<typeof send>[1][] = [
  { headers: upgrade },
  { path: '/%zz' },
  { path: '/a/../b' },
  { path: '/a"b' },
  { method: 'GET', body: 'x', headers: { 'content-length': '1' } },
  { method: 'DELETE', body: 'x', headers: { 'content-length': '1' } },
  { headers: { authorization: ['Bearer a', 'Bearer b'] } },
]

test('a request that HTTP/2 cannot carry gets a 501 of the gateway, and never reaches the target', async (t) => {
  const labels: Labels[] = []
  const counting = providing('counting', Telemetry, {
    measure({ name }, _value, given) {
      if (name.endsWith('target_answers_total')) labels.push(given)
    },
  })
  let asked = 0
  const { main } = await answering(
    t,
    (stream) => {
      asked++
      stream.respond()
      stream.end()
    },
    { more: [counting], options: { forwardAuthorization: true } },
  )
  for (const options of unsupported)
    assert.deepEqual(
      errorOf(await send(main, options)),
      [501, 'request_unsupported'],
      JSON.stringify(options),
    )
  assert.deepEqual([asked, labels], [0, []])
})

test('a response before the end of the body is the last of its connection', async (t) => {
  const { main } = await answering(t, (stream) => {
    stream.respond({ ':status': 507 })
    stream.end('full')
  })
  const socket = dial(main)
  t.after(() => socket.destroy())
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n')
  assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 507 /)
  assert.equal((await send(main, call(1))).status, 507)
})

test('a configuration that cannot work is refused at the start', async (t) => {
  const start = (target: string) =>
    serving(t, [listen, { use: 'auth/anonymous' }, { use: 'forward/http2', with: { target } }])
  await assert.rejects(start(await listening(t, () => {})), /expected an https URL/)
  variables(t, { HTTPS_PROXY: 'http://127.0.0.1:9' })
  await assert.rejects(start('https://mcp.test'), /outgoing proxy/)
})
