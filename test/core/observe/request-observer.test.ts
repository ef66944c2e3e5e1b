import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import {
  type AuditEvent,
  AuditSink,
  Authenticator,
  BearerToken,
  type Gateway,
  Refusal,
  Telemetry,
} from 'sallyport'
import { booted, recordedLog, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { deferred } from '#kit/deferred.js'
import { closed, listen, plugin, providing } from '#kit/plugin.js'

test('observers that throw or reject change no response and do not end the process', async (t) => {
  const failing = plugin(
    'failing',
    (gateway) => {
      gateway.provide(Telemetry, { measure: () => Promise.reject(new Error('no')) as never })
      gateway.provide(Telemetry, {
        measure: () => {
          throw new Error('no')
        },
      })
      gateway.provide(AuditSink, () => Promise.reject(new Error('no')) as never)
    },
    { provides: [Telemetry, AuditSink] },
  )
  const app = await booted(t, [failing, closed])
  const { statusCode, headers } = await app.inject('/')

  assert.equal(statusCode, 401)
  assert.equal(headers['www-authenticate'], 'Bearer')
})

test('a request without credentials is logged as information, and one with wrong credentials as a warning', async (t) => {
  const { log, lines } = recordedLog()
  const app = await booted(t, [closed], { log })
  await app.inject('/favicon.ico')
  await app.inject('/')
  await app.inject({ url: '/', headers: { authorization: 'Bearer x' } })

  const refused = lines.filter(({ msg }) => msg === 'refused')
  assert.deepEqual(
    refused.map(({ level }) => level),
    ['info', 'info', 'warn'],
  )
})

/** A list with an authenticator that takes the token `mine`, and what its audit sink gets. */
function audited(setup: (gateway: Gateway) => unknown) {
  const events: AuditEvent[] = []
  const accepting = plugin(
    'accepting',
    (gateway) => {
      gateway.provide(AuditSink, (event) => void events.push(event))
      gateway.provide(Authenticator, {
        provider: 'corp',
        authenticate: ({ credentials }) =>
          credentials.kind === 'bearer' && credentials.token === 'mine'
            ? { identity: { provider: 'corp', subject: 'ann', claims: {} } }
            : { rejection: { kind: 'invalid', cause: 'signature' } },
      })
    },
    { provides: [AuditSink, Authenticator] },
  )
  return { events, list: [accepting, plugin('routes', setup)] }
}

const mine = { authorization: 'Bearer mine' }

test('a request is audited once: as accepted, refused, or published, with its caller', async (t) => {
  const change = { registry: 'r', name: 'a/b', action: 'status', after: { status: 'deleted' } } as const
  const { events, list } = audited(({ http }) => {
    http.get('/', () => 'let in')
    http.get('/refused', () => {
      throw new Refusal(409, 'NO', 'no')
    })
    http.get('/published', (request) => {
      request.recordPublished(change)
      return change.name
    })
    http.get('/failed', (request) => {
      request.recordPublished(change)
      throw new Error('later')
    })
  })
  const app = await booted(t, list)
  for (const url of ['/', '/refused', '/published', '/failed']) await app.inject({ url, headers: mine })
  await app.inject('/')

  assert.deepEqual(
    events.map(({ kind, status, subject, provider, server }) => [kind, status, subject, provider, server]),
    [
      ['accepted', 200, 'ann', 'corp', undefined],
      ['refused', 409, 'ann', 'corp', undefined],
      ['published', 200, 'ann', 'corp', change],
      ['published', 500, 'ann', 'corp', change],
      ['refused', 401, undefined, undefined, undefined],
    ],
  )
})

test('a request whose client has left is counted, and its time is not measured', async (t) => {
  const measured: string[] = []
  const measuring = providing('measuring', Telemetry, {
    measure({ name }, _value, { route, status }) {
      if (name.includes('_http_request')) measured.push([name, route, status].join(' '))
    },
  })
  let asked = (): void => {}
  const { list } = audited(({ http }) => {
    http.get('/', () => 'let in')
    http.get('/never', (_request, reply) => {
      asked()
      return reply
    })
  })
  const { addresses } = await serving(t, [listen, measuring, ...list])
  const leaving = new AbortController()
  const reached = new Promise<void>((resolve) => {
    asked = resolve
  })
  const left = fetch(`${addresses.main}/never`, { headers: mine, signal: leaving.signal })
  await reached
  leaving.abort()
  await assert.rejects(left)
  await eventually(() => measured.length > 0)
  await (await fetch(`${addresses.main}/`, { headers: mine })).text()
  await eventually(() => measured.length > 2)

  assert.deepEqual(measured, [
    'sallyport_http_requests_total /never 499',
    'sallyport_http_requests_total / 200',
    'sallyport_http_request_duration_seconds / ',
  ])
})

test('a request that ended while another went on is audited before the plugins stop', async (t) => {
  let atStop: number | undefined
  const { events, list } = audited((gateway) => {
    gateway.http.get('/', () => 'let in')
    gateway.http.get('/held', (_request, reply) => reply)
    gateway.onStop(() => {
      atStop = events.length
    })
  })
  const server = await serving(t, [listen, ...list])
  const held = fetch(`${server.addresses.main}/held`, { headers: mine })
  const response = await fetch(`${server.addresses.main}/`, { headers: mine })
  await response.text()
  await Promise.all([assert.rejects(held), server.stop(0)])
  assert.equal(atStop, 2)
})

test('a change for a caller that has gone is audited after its request, also beside other requests', async (t) => {
  const change = { registry: 'r', name: 'a/b', action: 'status', after: { status: 'deleted' } } as const
  const { promise: gone, resolve: closed } = deferred()
  const { promise: asked, resolve: reached } = deferred()
  const { events, list } = audited(({ http }) => {
    http.get('/held', (_request, reply) => reply)
    http.get('/late', async (request, reply) => {
      reply.raw.once('close', closed)
      reached()
      await gone
      // All listeners of `close` have run.
      await new Promise((resolve) => setImmediate(resolve))
      request.recordPublished(change)
      return 'late'
    })
  })
  const server = await serving(t, [listen, ...list])
  const held = fetch(`${server.addresses.main}/held`, { headers: mine })
  const leaving = new AbortController()
  const late = fetch(`${server.addresses.main}/late`, { headers: mine, signal: leaving.signal })
  await asked
  leaving.abort()
  await assert.rejects(late)
  await gone
  await Promise.all([assert.rejects(held), server.stop(0)])

  const ofLate = events.filter(({ route }) => route === '/late')
  assert.deepEqual(
    ofLate.map(({ kind, status }) => [kind, status]),
    [
      ['accepted', 499],
      ['published', 499],
    ],
  )
})

test('a refusal is audited also when its caller has left before it', async (t) => {
  const events: AuditEvent[] = []
  const { promise: asked, resolve: reached } = deferred()
  const slow = plugin(
    'slow',
    (gateway) => {
      gateway.provide(AuditSink, (event) => void events.push(event))
      gateway.provide(Authenticator, {
        provider: 'corp',
        async authenticate(request) {
          reached()
          await once(request.raw.socket, 'close')
          // All listeners of `close` have run.
          await new Promise((resolve) => setImmediate(resolve))
          return { rejection: { kind: 'invalid', cause: 'signature' } }
        },
      })
    },
    { provides: [AuditSink, Authenticator] },
  )
  const { addresses } = await serving(t, [listen, slow, closed])
  const leaving = new AbortController()
  const left = fetch(`${addresses.main}/`, { headers: mine, signal: leaving.signal })
  await asked
  leaving.abort()
  await assert.rejects(left)
  await eventually(() => events.length > 0)

  assert.deepEqual(
    events.map(({ kind, status, outcome, causes }) => [kind, status, outcome, causes]),
    [['refused', 499, 'denied', ['signature']]],
  )
})

test('a route on a public path can still require a caller and its credentials', async (t) => {
  const { list } = audited(({ http }) => {
    const config = { public: true }
    http.get('/own', { config }, async (request) => (await request.authenticate()).subject)
    http.get('/given', { config }, async (request) => {
      const { subject } = await request.authenticate(new BearerToken('mine'))
      return `${subject} ${request.identity?.subject}`
    })
    http.get('/none', { config }, async (request) => {
      await request.authenticate({ kind: 'none' })
    })
  })
  const app = await booted(t, list)

  assert.equal((await app.inject({ url: '/own', headers: mine })).body, 'ann')
  for (const headers of [{}, { authorization: 'Bearer other' }, { authorization: 'Basic mine' }])
    assert.equal((await app.inject({ url: '/own', headers })).statusCode, 401)
  assert.equal((await app.inject({ url: '/given' })).body, 'ann ann')
  assert.equal(
    (await app.inject({ url: '/given', headers: { authorization: 'Bearer other' } })).body,
    'ann ann',
  )
  assert.equal((await app.inject({ url: '/none', headers: mine })).statusCode, 401)
})

test('a failing authenticator admits no caller on a public path either', async (t) => {
  const failing = providing('failing', Authenticator, {
    provider: 'corp',
    authenticate: () => Promise.reject(new Error('SECRET')),
  })
  const routes = plugin('routes', ({ http }) =>
    http.get('/', { config: { public: true } }, async (request) => (await request.authenticate()).subject),
  )
  const { statusCode, body } = await (await booted(t, [failing, routes])).inject({ url: '/', headers: mine })
  assert.equal(statusCode, 503)
  assert.ok(!body.includes('SECRET'))
})
