import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer, request as httpRequest, type RequestListener } from 'node:http'
import { type TestContext, test } from 'node:test'
import { Credential } from 'sallyport'
import { recordedLog, serving } from '#kit/booted.js'
import { closedPort, listening, opened } from '#kit/listening.js'
import { listen, providing } from '#kit/plugin.js'
import { sendRaw } from '#kit/raw.js'
import { authority, tlsListening } from '#kit/tls.js'
import { call, openRequest, send } from './proxied.js'

/** A balancing forwarder in front of these targets. */
async function balanced(
  t: TestContext,
  targets: readonly string[],
  options: Readonly<Record<string, unknown>> = {},
  more: Parameters<typeof serving>[1] = [],
  { log, scrubber } = recordedLog(),
): Promise<string> {
  const list = [
    listen,
    { use: 'auth/anonymous' },
    ...more,
    { use: 'forward/balanced', with: { targets, ...options } },
  ]
  return (await serving(t, list, { log, scrubber })).addresses.main ?? ''
}

/** Servers that respond with their index, and begin sessions of their own. */
const replicas = (t: TestContext, count: number): Promise<string[]> =>
  Promise.all(
    Array.from({ length: count }, (_, index) => {
      let sessions = 0
      return listening(t, (request, response) => {
        const begins = request.url === '/begin'
        if (begins) response.setHeader('mcp-session-id', `${index}-${++sessions}`)
        response.end(String(index))
      })
    }),
  )

const post = (path: string, headers: Readonly<Record<string, string>> = {}) => ({
  ...call(1),
  path,
  headers: { 'content-type': 'application/json', ...headers },
})

test('requests go to the replicas in turn', async (t) => {
  const main = await balanced(t, await replicas(t, 3))
  const seen: string[] = []
  for (let sent = 0; sent < 6; sent++) seen.push((await send(main, call(1))).body)
  assert.deepEqual(seen, ['0', '1', '2', '0', '1', '2'])
})

test('a session stays with the replica that began it', async (t) => {
  const main = await balanced(t, await replicas(t, 3))
  for (let begun = 0; begun < 12; begun++) {
    const { body: first, headers } = await send(main, post('/begin'))
    const session = String(headers['mcp-session-id'])
    for (let sent = 0; sent < 3; sent++) {
      assert.equal((await send(main, post('/', { 'mcp-session-id': session }))).body, first)
    }
  }
})

test('an unknown session goes to one and the same replica, also from another gateway', async (t) => {
  const targets = await replicas(t, 3)
  const gateways = [await balanced(t, targets), await balanced(t, targets)]
  const used = new Set<string>()
  for (let session = 0; session < 20; session++) {
    const headers = { 'mcp-session-id': `s${session}` }
    const bodies = new Set<string>()
    for (const main of [...gateways, ...gateways]) bodies.add((await send(main, post('/', headers))).body)
    assert.equal(bodies.size, 1)
    used.add([...bodies].join())
  }
  assert.equal(used.size, 3)
})

test('a replica that is down is left out: repeatable requests go to the next, others fail once', async (t) => {
  const [first = '', second = ''] = await replicas(t, 2)
  const down = await closedPort()
  const main = await balanced(t, [down, first, second])
  const get = await send(main, { path: '/' })
  assert.deepEqual([get.status, get.body], [200, '0'])

  const other = await balanced(t, [down, first, second])
  const refused = await send(other, call(7))
  assert.equal(refused.status, 502)
  assert.deepEqual(JSON.parse(refused.body).id, 7)
  for (let sent = 0; sent < 4; sent++) assert.equal((await send(other, call(1))).status, 200)
})

test('a replica is used again after a while, and at once when no other is left', async (t) => {
  const down = new URL(await closedPort())
  const main = await balanced(t, [down.origin], { leaveOutFor: 60_000 })
  assert.equal((await send(main, call(1))).status, 502)

  const revived = createServer((_request, response) => response.end('back'))
  t.after(() => revived.close())
  revived.listen(Number(down.port), '127.0.0.1')
  await once(revived, 'listening')
  assert.equal((await send(main, call(1))).body, 'back')
})

test('a replica that is stopped is left out, and a killed one', async (t) => {
  const child = spawn(process.execPath, [
    '-e',
    "const s = require('node:http').createServer((_, r) => r.end('child')).listen(0, '127.0.0.1', () => console.log(s.address().port))",
  ])
  t.after(() => child.kill('SIGKILL'))
  const [port] = await once(child.stdout, 'data')
  const [steady = ''] = await replicas(t, 1)
  const main = await balanced(t, [`http://127.0.0.1:${String(port).trim()}`, steady], { targetTimeout: 500 })
  assert.equal((await send(main, call(1))).body, 'child')
  assert.equal((await send(main, call(1))).body, '0')

  child.kill('SIGSTOP')
  // The stopped replica has its turn: it accepts the connection, and never responds.
  assert.equal((await send(main, { path: '/' })).body, '0')
  for (let sent = 0; sent < 4; sent++) assert.equal((await send(main, call(1))).body, '0')

  child.kill('SIGKILL')
  await once(child, 'exit')
  for (let sent = 0; sent < 4; sent++) assert.equal((await send(main, call(1))).body, '0')
})

test('no caller can move the sessions of others, by a slow tool, a large head or a malformed one', async (t) => {
  const targets = await Promise.all(
    [0, 1].map((index) => {
      let sessions = 0
      return listening(t, (request, response) => {
        if (request.url === '/begin') response.setHeader('mcp-session-id', `${index}-${++sessions}`)
        if (request.url === '/large') response.setHeader('x-large', 'x'.repeat(20_000))
        if (request.url === '/malformed') request.socket.end('HTTP/1.1 200 OK\r\nno header\r\n\r\n')
        if (request.url !== '/slow') response.end(String(index))
      })
    }),
  )
  const main = await balanced(t, targets, { targetTimeout: 200, leaveOutFor: 60_000 })
  const sessions: string[] = []
  for (let begun = 0; begun < 12; begun++)
    sessions.push(String((await send(main, post('/begin'))).headers['mcp-session-id']))

  for (const [path, status] of [
    ['/slow', 504],
    ['/large', 502],
    ['/malformed', 502],
  ] as const) {
    const mine = sessions.find((session) => session.startsWith('0')) ?? ''
    assert.equal((await send(main, post(path, { 'mcp-session-id': mine }))).status, status)
    for (const session of sessions) {
      const { body } = await send(main, post('/', { 'mcp-session-id': session }))
      assert.equal(body, session.split('-')[0], path)
    }
  }
})

test('an upgrade goes to the next replica when one is down, and a refused upgrade excludes no replica', async (t) => {
  const replica = createServer((_request, response) => response.end('http'))
  replica.on('upgrade', ({ url }, socket) => {
    if (url === '/refused') socket.destroy()
    else
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello')
  })
  const { port } = await opened(t, replica)
  const first = await replicas(t, 1)
  const main = await balanced(t, [await closedPort(), `http://127.0.0.1:${port}`])
  const handshake = (path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
  assert.match(await sendRaw(main, handshake('/')), /^HTTP\/1\.1 101 .*hello$/s)

  const both = await balanced(t, [`http://127.0.0.1:${port}`, ...first])
  const refused = await sendRaw(both, handshake('/refused'))
  assert.doesNotMatch(refused, /^HTTP\/1\.1 101/)
  const used = [(await send(both, call(1))).body, (await send(both, call(1))).body]
  assert.deepEqual(used.toSorted(), ['0', 'http'])
})

test('each replica gets its own name as Host', async (t) => {
  const names = await Promise.all(
    [0, 1].map(() => listening(t, ({ headers }, response) => response.end(headers.host))),
  )
  const main = await balanced(t, [await closedPort(), ...names])
  const seen = [await send(main, { path: '/' }), await send(main, { path: '/' })].map(({ body }) => body)
  assert.deepEqual(seen.toSorted(), names.map((name) => new URL(name).host).toSorted())
})

test('replicas get the credential and not the caller’s token, and limits apply', async (t) => {
  const seen: (string | undefined)[] = []
  const target = await listening(t, (request, response) => {
    seen.push(request.headers.authorization)
    response.end()
  })
  const credential = providing('fixed', Credential, {
    name: 'fixed',
    present: () => ({ header: 'authorization', value: 'Bearer ours', accessToken: 'ours' }),
  })
  const main = await balanced(t, [target], { maxBody: 100 }, [credential])
  await send(main, post('/', { authorization: 'Bearer theirs' }))
  assert.deepEqual(seen, ['Bearer ours'])
  assert.equal((await send(main, { ...call(1), body: 'x'.repeat(101) })).status, 413)
  assert.equal(seen.length, 1)

  await assert.rejects(balanced(t, ['http://192.0.2.1'], {}, [credential]), /allowPlainHttp/)

  const without = await balanced(t, [target])
  await send(without, post('/', { authorization: 'Bearer theirs' }))
  assert.equal(seen.at(-1), undefined)
})

test('events pass as they come, and a caller that leaves ends the stream of the replica', async (t) => {
  let closed: Promise<unknown> = Promise.resolve()
  const stream: RequestListener = (request, response) => {
    closed = once(request.socket, 'close')
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: 1\n\n')
  }
  const main = await balanced(t, [await listening(t, stream)], { targetTimeout: 200 })
  const events = await openRequest(main, { headers: { accept: 'text/event-stream' } })
  assert.equal(String((await once(events, 'data'))[0]), 'data: 1\n\n')
  events.destroy()
  await closed
})

test('a caller that leaves before the response begins ends the request at the replica', async (t) => {
  const silent = new EventEmitter()
  const replica = await listening(t, ({ socket }) => {
    socket.on('close', () => silent.emit('left'))
    silent.emit('asked')
  })
  const recorded = recordedLog()
  const main = await balanced(t, [replica], {}, [], recorded)
  const [asked, left] = [once(silent, 'asked'), once(silent, 'left')]
  const caller = httpRequest(main, { headers: { accept: 'text/event-stream' } }).on('error', () => {})
  caller.end()
  await asked
  caller.destroy()
  await left
  assert.ok(!recorded.lines.some(({ msg }) => msg === 'response errored'))
})

test('a chunked body is streamed', async (t) => {
  const echo = await listening(t, (request, response) => request.pipe(response))
  const main = await balanced(t, [echo])
  const body = 'x'.repeat(3_000_000)
  const chunked = { method: 'POST', headers: { 'transfer-encoding': 'chunked' }, body }
  assert.equal((await send(main, chunked)).body, body)
  assert.equal((await send(main, { method: 'POST', headers: { expect: '100-continue' }, body })).body, body)
})

test('the certificate of a replica is verified', async (t) => {
  const port = await tlsListening(t, authority(t).issue(['127.0.0.1']), (_request, response) =>
    response.end(),
  )
  const main = await balanced(t, [`https://127.0.0.1:${port}`])
  const { status, body } = await send(main, { path: '/' })
  assert.deepEqual([status, JSON.parse(body).error], [502, 'target_tls'])
})

test('a list that cannot work is refused at the start', async (t) => {
  const refused: readonly (readonly [readonly string[], RegExp])[] = [
    [['http://127.0.0.1:1/a', 'http://127.0.0.1:2/b'], /targets/],
    [['http://127.0.0.1:1', 'https://127.0.0.1:2'], /targets/],
    [['http://127.0.0.1:1/a', 'http://127.0.0.1:1/a'], /expected each once/],
    [[], /targets/],
  ]
  for (const [targets, message] of refused) {
    await assert.rejects(balanced(t, targets), message)
  }
})

test('requests that fail alike without a replica are logged ten times a minute', async (t) => {
  const recorded = recordedLog()
  const main = await balanced(t, [await closedPort()], {}, [], recorded)
  for (let sent = 0; sent < 15; sent++) assert.equal((await send(main, call(1))).status, 502)
  assert.equal(recorded.lines.filter(({ err }) => err !== undefined).length, 10)
})

test('sessions stay with their replicas over a reload, also one that adds a replica', async (t) => {
  const named = (name: string): Promise<string> =>
    listening(t, ({ headers }, response) => {
      response.setHeader('mcp-session-id', headers['mcp-session-id'] ?? randomUUID()).end(name)
    })
  const list = (urls: readonly string[]) => [
    listen,
    { use: 'auth/anonymous' },
    { use: 'forward/balanced', with: { targets: urls } },
  ]
  const targets = [await named('a'), await named('b')]
  const running = await serving(t, list(targets))
  const ask = async (headers: Readonly<Record<string, string>> = {}) => {
    const answer = await send(running.addresses.main ?? '', post('/', headers))
    return { by: answer.body, session: String(answer.headers['mcp-session-id']) }
  }
  const sessions = await Promise.all(Array.from({ length: 30 }, () => ask()))
  const moved = async (): Promise<number> => {
    const now = await Promise.all(sessions.map(({ session }) => ask({ 'mcp-session-id': session })))
    return now.filter(({ by }, index) => by !== sessions[index]?.by).length
  }

  assert.equal(await moved(), 0)
  await running.swap(list(targets))
  assert.equal(await moved(), 0)
  await running.swap(list([...targets, await named('c')]))
  assert.equal(await moved(), 0)
})
