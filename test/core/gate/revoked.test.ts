import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { test } from 'node:test'
import type { FastifyRequest } from 'fastify'
import {
  type AuditEvent,
  AuditSink,
  Authenticator,
  BrowserSession,
  Revocation,
  type Standing,
} from 'sallyport'
import { booted, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { deferred } from '#kit/deferred.js'
import { opened } from '#kit/listening.js'
import { listen, plugin, providing } from '#kit/plugin.js'
import { dial } from '#kit/raw.js'

/** Whoever has a token is the person with that name. */
const byName = providing('by-name', Authenticator, {
  provider: 'names',
  authenticate: ({ credentials }) =>
    credentials.kind === 'bearer'
      ? { identity: { provider: 'names', subject: credentials.token, claims: {} } }
      : { rejection: { kind: 'invalid', cause: 'other' } },
})

/** A revocation whose answers the test sets. */
function revoking() {
  const standings = new Map<string, unknown>()
  const listeners = new Set<() => void>()
  const entry = providing('revoking', Revocation, {
    standing({ subject }) {
      const standing = standings.get(subject) ?? 'good'
      if (standing instanceof Error) throw standing
      return standing as Standing
    },
    onRevoked(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    signIns: async () => [],
    revoke: async () => 0,
  })
  const set = (subject: string, standing: unknown): void => {
    standings.set(subject, standing)
    for (const listener of listeners) listener()
  }
  return { entry, set }
}

const bearer = (name: string) => ({ headers: { authorization: `Bearer ${name}` } })

const cases: readonly (readonly [string, unknown, number, string | undefined])[] = [
  ['a caller who was not revoked', 'good', 200, undefined],
  ['a revoked caller', 'revoked', 401, 'invalid_token'],
  ['a caller of whom it is not known', 'unknown', 503, undefined],
  ['a caller of whom the plugin says something else', true, 503, undefined],
  ['a caller at whom the plugin fails', new Error('broken'), 503, undefined],
]
for (const [who, standing, status, error] of cases) {
  test(`${who} gets ${status}`, async (t) => {
    const { entry, set } = revoking()
    const routes = plugin('routes', ({ http }) => http.get('/', ({ identity }) => identity?.subject))
    const discovery = { use: 'discovery/resource', with: { resource: 'https://mcp.example/' } }
    const app = await booted(t, [byName, entry, discovery, routes])
    set('alice', standing)
    const response = await app.inject({ url: '/', ...bearer('alice') })
    assert.equal(response.statusCode, status)
    const challenge = String(response.headers['www-authenticate'] ?? '')
    assert.equal(/error="(\w+)"/.exec(challenge)?.[1], error)
    assert.equal((await app.inject({ url: '/', ...bearer('bob') })).statusCode, 200)
  })
}

test('another authenticator does not let in a caller whom one has accepted and who was revoked', async (t) => {
  const { entry, set } = revoking()
  const routes = plugin('routes', ({ http }) => http.get('/', () => 'let in'))
  const app = await booted(t, [byName, { use: 'auth/anonymous' }, entry, routes])
  set('alice', 'revoked')
  assert.equal((await app.inject({ url: '/', ...bearer('alice') })).statusCode, 401)
})

test('a revoked caller gets in neither by the session of a browser nor by credentials of a route', async (t) => {
  const { entry, set } = revoking()
  const session = providing('session', BrowserSession, {
    token: ({ headers }) => (typeof headers['x-session'] === 'string' ? headers['x-session'] : undefined),
    person: () => undefined,
    signInPath: () => '/in',
    signOutPath: '/out',
  } as BrowserSession)
  const routes = plugin('routes', ({ http }) => {
    const subject = ({ identity }: FastifyRequest) => identity?.subject ?? 'nobody'
    http.get('/session', { config: { session: true } }, subject)
    http.get('/both', { config: { session: true, public: true } }, subject)
    http.get('/own', { config: { public: true } }, async (request) => (await request.authenticate()).subject)
  })
  const app = await booted(t, [byName, entry, session, routes])
  const headers = { 'x-session': 'alice' }
  assert.equal((await app.inject({ url: '/session', headers })).body, 'alice')
  set('alice', 'revoked')
  assert.equal((await app.inject({ url: '/session', headers })).statusCode, 401)
  assert.equal((await app.inject({ url: '/both', headers })).body, 'nobody')
  assert.equal((await app.inject({ url: '/own', ...bearer('alice') })).statusCode, 401)
  assert.equal((await app.inject({ url: '/own', ...bearer('bob') })).body, 'bob')
})

test('a scope without a revocation of its own follows that of the scope around it', async (t) => {
  const { entry, set } = revoking()
  const routes = plugin('routes', ({ http }) => http.get('/a', () => 'let in'))
  const app = await booted(t, [byName, entry, { scope: '/inner', plugins: [routes] }])
  set('alice', 'revoked')
  assert.equal((await app.inject({ url: '/inner/a', ...bearer('alice') })).statusCode, 401)
})

test('the open streams and WebSockets of a revoked caller end, and those of others stay', async (t) => {
  const { entry, set } = revoking()
  const events: AuditEvent[] = []
  const audit = providing('audit', AuditSink, (event) => void events.push(event))
  const target = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n')
  }).on('upgrade', (_request, socket) => {
    socket.on('error', () => {})
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  })
  const { port } = await opened(t, target)
  const forward = { use: 'forward/http', with: { target: `http://127.0.0.1:${port}` } }
  const { main = '' } = (await serving(t, [listen, byName, entry, audit, forward])).addresses
  const open = async (name: string, head: string, body = '') => {
    const socket = dial(main).on('error', () => {})
    t.after(() => void socket.destroy())
    socket.write(
      `${head} / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${name}\r\nContent-Type: application/json\r\n`,
    )
    const upgrade = body === '' ? 'Connection: Upgrade\r\nUpgrade: websocket\r\n' : ''
    socket.write(`${upgrade}Content-Length: ${body.length}\r\n\r\n${body}`)
    await once(socket, 'data')
    return socket
  }
  const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a' } })
  const ofAlice = [await open('alice', 'POST', call), await open('alice', 'GET')]
  const ofBob = [await open('bob', 'POST', call), await open('bob', 'GET')]
  set('alice', 'revoked')
  await eventually(() => ofAlice.every(({ destroyed }) => destroyed))
  assert.deepEqual(
    ofBob.map(({ destroyed }) => destroyed),
    [false, false],
  )
  await eventually(() => events.length === 2)
  assert.deepEqual(
    events
      .filter(({ mcp }) => mcp !== undefined)
      .map(({ subject, outcome, causes }) => [subject, outcome, causes]),
    [['alice', 'failed', ['token_revoked', 'aborted']]],
  )
})

test('a short request that is under way when its caller is revoked gets its response, and the next one 401', async (t) => {
  const { entry, set } = revoking()
  const [arrived, finish] = [deferred(), deferred()]
  const routes = plugin('routes', ({ http }) =>
    http.get('/', async () => {
      arrived.resolve()
      await finish.promise
      return 'done'
    }),
  )
  const { main = '' } = (await serving(t, [listen, byName, entry, routes])).addresses
  const response = fetch(main, bearer('alice'))
  await arrived.promise
  set('alice', 'revoked')
  assert.equal((await fetch(main, bearer('alice'))).status, 401)
  finish.resolve()
  assert.equal((await response).status, 200)
})
