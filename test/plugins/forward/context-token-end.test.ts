import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Duplex } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { Authenticator, type Entry, type Identity } from 'sallyport'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { fakeClock } from '#kit/fake-clock.js'
import { issuing } from '#kit/issuer.js'
import { listening, opened } from '#kit/listening.js'
import { listen, providing } from '#kit/plugin.js'
import { dial } from '#kit/raw.js'
import { HOUR, twoClocks } from '#kit/two-clocks.js'
import { observing } from './observing.js'
import { targetRoute } from './proxied.js'

const DAY = 24 * 3_600
const START = Date.UTC(2026, 0, 1)

/** Authenticates every request, until a time. */
function authenticatedUntil(expiresAt: number | undefined) {
  const known = { provider: 'knowing', subject: 'somebody', claims: {} }
  const identity: Identity = expiresAt === undefined ? known : { ...known, expiresAt }
  return providing('knowing', Authenticator, {
    provider: 'knowing',
    authenticate: () => Promise.resolve({ identity }),
  })
}

/** A target of endless event streams, WebSockets and responses, with the number of open ones. */
async function endlessTarget(t: TestContext) {
  const open = new Set<object>()
  const origin = await listening(t, (request, response) => {
    open.add(response)
    response.on('close', () => open.delete(response))
    const type = request.url === '/events' ? 'text/event-stream' : 'application/octet-stream'
    response.writeHead(200, { 'content-type': type }).write('first')
  })
  return { origin, open }
}

async function streaming(
  t: TestContext,
  expiresAt: number | undefined,
  options: object = {},
  more: readonly Entry[] = [],
) {
  const target = await endlessTarget(t)
  const forward = { use: 'forward/http', with: { target: targetRoute.urlOf(target.origin), ...options } }
  const { main = '' } = (await serving(t, [listen, authenticatedUntil(expiresAt), ...more, forward]))
    .addresses
  const ask = async (line: string, headers = '', body = ''): Promise<{ closed: boolean }> => {
    const socket = dial(main).on('error', () => {})
    t.after(() => void socket.destroy())
    const state = { closed: false }
    socket.on('close', () => {
      state.closed = true
    })
    socket.write(`${line} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n${headers}\r\n${body}`)
    await once(socket, 'data')
    return state
  }
  return { target, ask }
}

for (const [what, days] of [
  ['soon', 1],
  ['later than a timer can wait', 26],
] as const) {
  test(`an event stream ends with a token that expires ${what}, and other responses do not`, {
    timeout: 20_000,
  }, async (t) => {
    const clock = fakeClock(t, START)
    const expiresAt = START / 1000 + days * DAY
    const { target, ask } = await streaming(t, expiresAt, { endStreamsWithToken: true })
    const streams = [await ask('GET /events'), await ask('POST /events')]
    const long = await ask('GET /long')

    await clock.advance(days * DAY * 1000 - 1)
    assert.deepEqual(
      [...streams, long].map(({ closed }) => closed),
      [false, false, false],
    )
    await clock.advance(1)
    await eventually(() => streams.every(({ closed }) => closed))
    await eventually(() => target.open.size === 1)
    assert.equal(long.closed, false)
  })
}

test('a stream ends with its token, whatever its content type, since clients ignore the type', async (t) => {
  const clock = fakeClock(t, START)
  const { ask } = await streaming(t, START / 1000 + DAY, { endStreamsWithToken: true })
  const stream = await ask('GET /long', 'Accept: text/event-stream\r\n')

  await clock.advance(DAY * 1000)
  await eventually(() => stream.closed)
})

test('a stream outlives its token without the option, and with a token that does not expire', async (t) => {
  const clock = fakeClock(t, START)
  const transparent = await streaming(t, START / 1000 + DAY)
  const eternal = await streaming(t, undefined, { endStreamsWithToken: true })
  const streams = [await transparent.ask('GET /events'), await eternal.ask('GET /events')]

  await clock.advance(2 * DAY * 1000)
  assert.deepEqual(
    streams.map(({ closed }) => closed),
    [false, false],
  )
})

test('a stream ends when the life of its token is over, although the clock went back an hour', async (t) => {
  const clock = twoClocks(t)
  const { ask } = await streaming(t, Date.now() / 1000 + 2, { endStreamsWithToken: true })
  const stream = await ask('GET /events')
  clock.set(-HOUR)
  await eventually(() => stream.closed)
})

test('a call whose stream ends with its token differs from one whose caller left; other streams are no failure', async (t) => {
  const clock = fakeClock(t, START)
  const { entry, events } = observing(false)
  const { ask } = await streaming(t, START / 1000 + DAY, { endStreamsWithToken: true }, [entry])
  for (const method of ['tools/call', 'subscriptions/listen']) {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { name: 'a', notifications: {} } })
    await ask('POST /events', 'Content-Type: application/json\r\n', body)
  }
  await ask('GET /events')

  await clock.advance(DAY * 1000)
  await eventually(() => events.length === 3)
  assert.deepEqual(
    events.map(({ mcp, outcome, causes }) => [mcp?.method, outcome, causes]),
    [
      ['tools/call', 'failed', ['token_expired', 'aborted']],
      ['subscriptions/listen', 'allowed', undefined],
      [undefined, 'allowed', undefined],
    ],
  )
})

test('an expiry of NaN counts as passed', async (t) => {
  const { ask, target } = await streaming(t, Number.NaN, { endStreamsWithToken: true })
  const stream = await ask('GET /events')
  await eventually(() => stream.closed && target.open.size === 0)
})

for (const kind of ['jwt', 'introspection'] as const) {
  test(`a WebSocket ends with its token, with auth/${kind}`, async (t) => {
    const sides: Duplex[] = []
    const server = createServer()
    server.on('upgrade', (_request, socket) => {
      sides.push(socket)
      socket.resume()
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    })
    const { port } = await opened(t, server)

    const issuer = await issuing(t)
    const clock = fakeClock(t)
    const exp = Math.floor(clock.now / 1000) + 600
    const provider = { name: 'p', issuerUrl: issuer.url, audience: issuer.audience, allowPrivateIP: true }
    const introspectionUrl = await listening(t, (request, response) => {
      request.resume()
      const told = { active: true, sub: 's', iss: issuer.url, aud: issuer.audience, exp }
      response.setHeader('content-type', 'application/json').end(JSON.stringify(told))
    })
    const asking = { use: 'auth/introspection', with: { ...provider, introspectionUrl } }
    const { main = '' } = (
      await serving(t, [
        listen,
        { use: 'discovery/issuer' },
        kind === 'jwt' ? { use: 'auth/jwt', with: provider } : asking,
        {
          use: 'forward/http',
          with: { target: targetRoute.urlOf(`http://127.0.0.1:${port}`), endStreamsWithToken: true },
        },
      ])
    ).addresses
    const token = kind === 'jwt' ? await issuer.jwt({ exp }) : 'opaque'

    const caller = dial(main).on('error', () => {})
    t.after(() => void caller.destroy())
    caller.write(
      `GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    )
    const [head] = await once(caller, 'data')
    assert.match(String(head), /^HTTP\/1.1 101 /)
    const closed = once(caller, 'close')
    await clock.advance(590_000)
    assert.equal(caller.destroyed, false)
    await clock.advance(10_000)
    await closed
    await eventually(() => sides.length === 1 && sides.every(({ readableEnded }) => readableEnded))
  })
}
