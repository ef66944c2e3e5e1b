import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import {
  AuditSink,
  Authenticator,
  boot,
  Challenge,
  ConfigError,
  definePlugin,
  type Gateway,
  Guard,
  type List,
  PublicPath,
  planList,
  Refusal,
  Telemetry,
} from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { booted, recordedLog, serving } from '../kit/booted.js'
import { eventually } from '../kit/captured-log.js'

const listen = { use: 'listen/http', with: { address: '127.0.0.1:0' } }
const context = { catalogue, folder: import.meta.dirname, log: recordedLog().log }

const plugin = (name: string, setup: (gateway: Gateway) => unknown, more: object = {}) => ({
  use: definePlugin({ name, api: 1, setup: async (gateway) => void (await setup(gateway)), ...more }),
})
const judging = (verdict: () => unknown) =>
  plugin(
    'judge',
    (gateway) =>
      gateway.provide(Authenticator, { provider: 'judge', authenticate: verdict } as Authenticator),
    {
      provides: [Authenticator],
    },
  )
const closed = plugin('closed', ({ http }) => http.get('/', () => 'let in'))

test('a verdict that names nobody, or is no verdict, lets nobody in', async (t) => {
  const rejection = { kind: 'invalid', cause: 'signature' }
  const strange: (() => unknown)[] = [
    () => ({ identity: undefined }),
    () => ({ identity: null }),
    () => ({ identity: false }),
    () => ({ identity: 'me' }),
    () => ({ identity: {} }),
    () => ({ identity: { provider: 'judge', subject: undefined, claims: {} } }),
    () => ({ identity: { provider: 'x', subject: 'x', claims: {} }, rejection }),
    () => ({}),
    () => undefined,
    () => true,
    () => 'yes',
    () => Promise.resolve({ identity: undefined }),
    () => Promise.resolve(undefined),
    () => Promise.reject(undefined),
    () => {
      throw undefined
    },
    () => ({
      // biome-ignore lint/suspicious/noThenProperty: a verdict made to look like a promise
      get then() {
        throw undefined
      },
    }),
    () => new Proxy({}, { get: () => assert.fail('a trap') }),
  ]
  for (const [index, verdict] of strange.entries()) {
    const app = await booted(t, [judging(verdict), closed])
    assert.equal((await app.inject('/')).statusCode, 503, `verdict ${index}`)
  }
  const rejecting = await booted(t, [judging(() => ({ identity: undefined, rejection })), closed])
  assert.equal((await rejecting.inject('/')).statusCode, 401)
})

test('observers that throw or reject change no answer and end no process', async (t) => {
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

test('a challenge that fails, or is no header value, becomes a bare one', async (t) => {
  const headers: (() => unknown)[] = [
    () => {
      throw new Error('SECRET')
    },
    () => 'Bearer x\r\nset-cookie: a=b',
    () => 'Bearer ключ',
    () => Promise.reject(new Error('no')),
    () => 7,
  ]
  for (const header of headers) {
    const challenge = plugin(
      'c',
      (gateway) => gateway.provide(Challenge, { header } as unknown as Challenge),
      {
        provides: [Challenge],
      },
    )
    const app = await booted(t, [challenge, closed])
    const answer = await app.inject('/')
    assert.equal(answer.statusCode, 401)
    assert.equal(answer.headers['www-authenticate'], 'Bearer')
    assert.ok(!answer.body.includes('SECRET'))
  }
})

test('what goes wrong while an error is told stays here', async (t) => {
  const throwing = plugin('throwing', ({ http }) => {
    const errors = (): never => {
      throw new Error('SECRET shape')
    }
    const open = { config: { public: true } }
    http.get('/shape', { config: { public: true, errors } }, () => Promise.reject(new Error('SECRET')))
    http.get('/null', open, () => Promise.reject(null))
    http.get('/undefined', open, () => Promise.reject(undefined))
    http.get('/code', open, () =>
      Promise.reject(new Refusal(403, 7 as never, 'no', { retryAfter: 'a\r\nb' as never })),
    )
    http.get('/frozen', open, () => Promise.reject(Object.freeze(new Error('SECRET'))))
    http.get('/validation', open, () =>
      Promise.reject(Object.assign(new Error('SECRET'), { validation: [], statusCode: 400 })),
    )
    http.get('/status', open, () => Promise.reject(Object.assign(new Error('SECRET'), { statusCode: '404' })))
  })
  const app = await booted(t, [throwing])

  for (const path of ['shape', 'null', 'undefined', 'code', 'frozen', 'validation', 'status']) {
    const answer = await app.inject(`/${path}`)
    assert.ok(answer.statusCode >= 400, path)
    assert.ok(!answer.body.includes('SECRET'), `${path}: ${answer.body}`)
    assert.equal(typeof answer.json().error, 'string', path)
  }
})

test('a plugin cannot take over the answers to refusals', async (t) => {
  const taking = plugin('taking', ({ http }) =>
    http.setErrorHandler((_error, _request, reply) => reply.code(200).send('in')),
  )
  await assert.rejects(boot([taking, closed], context), /plugin "taking" failed in setup/)

  const { log, lines } = recordedLog()
  const within = plugin('within', ({ http }) =>
    http.register(async (own) => {
      own.setErrorHandler((_error, _request, reply) => reply.code(200).send('in'))
      own.get('/', () => 'let in')
    }),
  )
  const app = await booted(t, [within], { log })
  assert.equal((await app.inject('/')).statusCode, 401)
  assert.equal(lines.filter(({ msg }) => msg === 'refused').length, 1)
})

test('whatever a plugin leaves in the queue of routes has a deadline, and names the plugin', async () => {
  const never = (): Promise<void> => new Promise(() => {})
  const limits = { setup: 50, stop: 50 }
  const cases: [string, (gateway: Gateway) => unknown, RegExp][] = [
    ['hangs', ({ http }) => void http.register(never), /plugin "hangs" failed in setup: it did not return/],
    [
      'rejects',
      ({ http }) => void http.register(() => Promise.reject(new Error('inner'))),
      /plugin "rejects" failed in setup: inner/,
    ],
    ['ready', ({ http }) => void http.addHook('onReady', never), /failed in setup: it did not return/],
  ]
  for (const [name, setup, expected] of cases) {
    await assert.rejects(boot([plugin(name, setup)], { ...context, limits }), expected)
  }

  const closing = await boot([plugin('closing', ({ http }) => void http.addHook('onClose', never))], {
    ...context,
    limits,
  })
  await closing.stop()
})

test('a setup that comes back after its deadline leaves nothing open', async () => {
  const closedAgain: string[] = []
  let late: Promise<void> = Promise.resolve()
  const slow = plugin('slow', (gateway) => {
    late = setTimeout(60).then(() => gateway.onStop(() => void closedAgain.push('closed')))
    return late
  })
  await assert.rejects(boot([slow], { ...context, limits: { setup: 20 } }))
  await late
  assert.deepEqual(closedAgain, ['closed'])
})

test('lists that are none, and paths that two scopes share, are told and crash nothing', async () => {
  const lists: unknown[] = [
    [null],
    ['x'],
    [5],
    {},
    [{ scope: '/a' }],
    [{ use: 7 }],
    [{ use: 'auth/anonymous', id: 7 }],
    [{ use: 'auth/anonymous', required: 'no' }],
    [{ use: 'constructor' }],
    [{ use: '__proto__' }],
    [{ use: '' }],
    [{ use: 'node:fs' }],
    [{ use: 'data:text/javascript,export default 1' }],
    [{ use: 'listen/http', with: { address: '127.0.0.1:99999' } }],
    [{ use: 'auth/anonymous', with: JSON.parse('{"__proto__":{"a":1}}'), origin: {} }],
    [{ use: 'auth/anonymous', with: { constructor: 1 }, origin: {} }],
    [
      { scope: '/a/b', plugins: [] },
      { scope: '/a', plugins: [{ scope: '/b', plugins: [] }] },
    ],
    [{ scope: '/..', plugins: [] }],
    [{ scope: '/a/./b', plugins: [] }],
  ]
  for (const list of lists) {
    await assert.rejects(
      planList(list as List, context),
      (error) => error instanceof ConfigError && error.problems.length === 1,
      JSON.stringify(list),
    )
  }
  const silent = { '~standard': { version: 1, vendor: 'x', validate: () => ({ issues: [] }) } } as const
  const loud = { '~standard': { version: 1, vendor: 'x', validate: () => assert.fail('SECRET') } } as const
  for (const options of [silent, loud]) {
    const refused = planList(
      [{ use: definePlugin({ name: 'x', api: 1, options, setup() {} }), with: { a: 'SECRET' } }],
      context,
    )
    await assert.rejects(
      refused,
      (error) => error instanceof ConfigError && !error.message.includes('SECRET'),
    )
  }
})

test('a public path that would open everything stops the boot', async () => {
  for (const path of ['', '/', '//']) {
    const opening = plugin('opening', (gateway) => gateway.provide(PublicPath, path), {
      provides: [PublicPath],
    })
    await assert.rejects(boot([opening], context), ConfigError)
  }
})

test('RS-35 below a wildcard only a path that can be read in one way is public', async (t) => {
  const opening = plugin(
    'opening',
    (gateway) => {
      gateway.provide(PublicPath, '/w/pub')
      gateway.http.get('/w/*', () => 'let in')
    },
    { provides: [PublicPath] },
  )
  const app = await booted(t, [opening])

  assert.equal((await app.inject('/w/pub/x')).statusCode, 200)
  for (const path of ['/w/pub%2fx', '/w/pub/%78', '/w/pub/..', '/w/pub//x', '/w/pub/x;y', '/w/public']) {
    assert.equal((await app.inject(path)).statusCode, 401, path)
  }
})

test('what needs no credentials is told in full at the start', async (t) => {
  const { log, lines } = recordedLog()
  const opening = plugin(
    'opening',
    (gateway) => {
      gateway.provide(PublicPath, '/open')
      gateway.http.addHook('onRoute', (route) => {
        if (route.url === '/late') route.config = { ...route.config, public: true }
      })
      gateway.http.get('/late', () => 'late')
    },
    { provides: [PublicPath] },
  )
  await booted(t, [opening], { log })

  const told = lines.find(({ msg }) => msg === 'these need no credentials')
  assert.deepEqual(told?.['paths'], ['/open'])
  assert.match(String(told?.['routes']), /GET \/late/)
})

test('T16 requests sent ahead on a connection that goes away leave nothing behind', async (t) => {
  let waiting = 0
  const slow = plugin('slow', (gateway) => gateway.provide(Guard, () => void waiting++), {
    provides: [Guard],
  })
  const hold = plugin('hold', ({ http }) =>
    http.get('/hold', { config: { public: true } }, () => new Promise(() => {})),
  )
  const running = await serving(t, [listen, slow, hold], { drainLimit: 30_000 })
  const { port } = new URL(running.addresses.main ?? '')

  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write('GET /hold HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(20))
  await eventually(() => (waiting === 20 ? true : undefined))
  socket.destroy()

  const began = Date.now()
  await running.stop()
  assert.ok(Date.now() - began < 5_000, 'a stop waits for nobody who has left')
})

test('a stop lets a slow client read the whole of an answer', async (t) => {
  const size = 20_000_000
  const large = plugin('large', ({ http }) =>
    http.get('/', { config: { public: true } }, () => 'x'.repeat(size)),
  )
  const running = await serving(t, [listen, large])
  const { port } = new URL(running.addresses.main ?? '')

  const socket = connect(Number(port), '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await once(socket, 'readable')
  const stopped = running.stop()
  let read = 0
  for await (const chunk of socket) read += (chunk as Buffer).length

  assert.ok(read > size, `${read} of ${size} bytes`)
  await stopped
})

test('a stop ends an exchange that is still booting, and takes nothing new from that moment', async (t) => {
  const running = await serving(t, [listen, closed])
  const url = running.addresses.main ?? ''
  let arrived: () => void = () => {}
  const arrival = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const hanging = plugin('hanging', (gateway) =>
    gateway.onStart(() => {
      arrived()
      return new Promise(() => {})
    }),
  )
  const exchanged = assert.rejects(running.swap([listen, hanging]))
  await arrival
  const began = Date.now()
  const stopped = running.stop()
  await assert.rejects(fetch(url))
  await stopped
  await exchanged
  assert.ok(Date.now() - began < 5_000)
})

test('two entries that open the same address are a mistake', async () => {
  const twice = [listen, { ...listen, id: 'again' }]
  await assert.rejects(serving({ after() {} } as never, twice), /two entries of the list open it/)
})
