import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest, type RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { Credential, type Entry, HeaderSource, type TargetRefusal, UpstreamError } from 'sallyport'
import { listening } from '#kit/listening.js'
import { providing } from '#kit/plugin.js'
import { call, proxied, send } from './proxied.js'
import { answerTo, rawTarget } from './raw-target.js'

/** A credential whose tokens are numbered, one more for each renewal. */
function countingCredential(options: { renewals?: number; deadline?: number } = {}) {
  const refusals: TargetRefusal[] = []
  let version = 1
  const entry: Entry = providing('counting', Credential, {
    name: 'counting',
    present: () => ({
      header: 'authorization',
      value: `Bearer v${version}`,
      accessToken: `v${version}`,
    }),
    async renew(_request, refused) {
      refusals.push(refused)
      if (version > (options.renewals ?? 1)) return false
      version++
      return true
    },
  })
  return { entry, refusals }
}

const credentialOf = (name: string, present: Credential['present'], deadline?: number): Entry => ({
  id: name,
  ...providing(name, Credential, { name, present, ...(deadline !== undefined && { deadline }) }),
})

/** A target that accepts one token, and records those that it gets. */
async function targetWithToken(t: TestContext, wanted: string, status: 401 | 403 = 401) {
  const seen: { authorization: string | undefined; body: string }[] = []
  const origin = await listening(t, (request, response) => {
    const { authorization } = request.headers
    void text(request).then((body) => {
      seen.push({ authorization, body })
      if (authorization === `Bearer ${wanted}`) response.end('welcome')
      else response.writeHead(status, { 'www-authenticate': 'Bearer error="x"' }).end('no')
    })
  })
  return { origin, seen }
}

test('a refused credential is renewed once, and the same request is sent again', async (t) => {
  const target = await targetWithToken(t, 'v2')
  const { entry, refusals } = countingCredential()
  const { main } = await proxied(t, target.origin, {}, [entry])

  assert.equal((await send(main, call(1))).body, 'welcome')
  assert.deepEqual(target.seen, [
    { authorization: 'Bearer v1', body: call(1).body },
    { authorization: 'Bearer v2', body: call(1).body },
  ])
  assert.deepEqual(refusals, [{ status: 401, attempt: 1, challenges: ['Bearer error="x"'] }])
})

test('a chunked body is sent again too, and stays chunked', async (t) => {
  const target = await targetWithToken(t, 'v2')
  const { main } = await proxied(t, target.origin, {}, [countingCredential().entry])

  const { body } = await send(main, { ...call(1), headers: { 'transfer-encoding': 'chunked' } })
  assert.equal(body, 'welcome')
  assert.deepEqual(
    target.seen.map((seen) => seen.body),
    [call(1).body, call(1).body],
  )
})

for (const [name, head, body] of [
  ['a call', 'POST / HTTP/1.1\r\nContent-Length: 2\r\n', 'hi'],
  ['HEAD', 'HEAD / HTTP/1.1\r\n', ''],
  ['HEAD with a body', 'HEAD / HTTP/1.1\r\nContent-Length: 2\r\n', 'hi'],
  ['GET with a body', 'GET / HTTP/1.1\r\nContent-Length: 2\r\n', 'hi'],
  ['DELETE with none', 'DELETE / HTTP/1.1\r\nContent-Length: 0\r\n', ''],
  ['chunks', 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n', '2\r\nhi\r\n0\r\n\r\n'],
  ['no chunk', 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'],
  ['trailers', 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n', '2\r\nhi\r\n0\r\nX-Sum: 9\r\n\r\n'],
]) {
  test(`after a refusal before the body was read, the whole request is sent again: ${name}`, async (t) => {
    const target = await rawTarget(t, ({ headers }) =>
      headers.some(([, value]) => value === 'Bearer v2')
        ? 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'
        : 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n',
    )
    const { main } = await proxied(t, target.origin, {}, [countingCredential().entry])

    assert.equal((await answerTo(main, `${head}Host: a\r\n\r\n${body}`)).line, 'HTTP/1.1 200 OK')
    const wanted = {
      body: body?.includes('hi') ? 'hi' : '',
      trailers: name === 'trailers' ? [['X-Sum', '9']] : [],
    }
    assert.deepEqual(
      target.seen.map((seen) => ({ body: seen.body, trailers: seen.trailers })),
      [wanted, wanted],
    )
  })
}

test('a credential that stays refused causes a 502, with the id of the request and without the challenge', async (t) => {
  const target = await targetWithToken(t, 'never')
  const { entry, refusals } = countingCredential({ renewals: 99 })
  const { main } = await proxied(t, target.origin, {}, [entry])

  const { status, headers, body } = await send(main, call('seven'))
  assert.equal(status, 502)
  assert.equal(headers['www-authenticate'], undefined)
  const { id, error } = JSON.parse(body)
  assert.deepEqual([id, error.data.error], ['seven', 'credential_refused'])
  assert.deepEqual(
    refusals.map(({ attempt }) => attempt),
    [1, 2, 3],
  )
})

test('a 403 after a renewal is forwarded, without the challenge for the gateway’s credential', async (t) => {
  const target = await targetWithToken(t, 'never', 403)
  const { main } = await proxied(t, target.origin, {}, [countingCredential({ renewals: 0 }).entry])

  const { status, headers, body } = await send(main, call(1))
  assert.deepEqual([status, body, headers['www-authenticate']], [403, 'no', undefined])
})

test('callers get no session cookie of the target, unless their cookies are forwarded', async (t) => {
  const origin = await listening(t, (request, response) => {
    response.setHeader('set-cookie', ['a=1', 'b=2'])
    if (request.url === '/no') response.statusCode = 403
    response.end()
  })
  const { entry } = countingCredential({ renewals: 0 })
  for (const [options, more, expected] of [
    [{}, [entry], undefined],
    [{ forwardCookies: true }, [entry], ['a=1', 'b=2']],
    [{}, [], ['a=1', 'b=2']],
  ] as const) {
    const { main } = await proxied(t, origin, options, more)
    for (const path of ['/', '/no'])
      assert.deepEqual((await send(main, { path })).headers['set-cookie'], expected)
  }
  const upgrading = await rawTarget(
    t,
    () => 'HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSet-Cookie: a=1\r\n\r\n',
  )
  const { main } = await proxied(t, upgrading.origin, {}, [entry])
  const asking = httpRequest(main, { headers: { connection: 'Upgrade', upgrade: 'websocket' } })
  const upgraded = once(asking.end(), 'upgrade')
  const [{ statusCode, headers }, socket] = await upgraded
  socket.destroy()
  assert.deepEqual([statusCode, headers['set-cookie']], [101, undefined])
})

test('cookies of the gateway itself pass in neither direction, whatever the options allow', async (t) => {
  const own = ['sallyport-session-0a', '__Host-sallyport-session-0a', '__host-Sallyport-x.1', '=sallyport-x']
  const origin = await listening(t, ({ headers }, response) => {
    const set = ['a=1', ...own.map((name) => `${name}=x; Path=/`), 'b=sallyport-x']
    response.setHeader('set-cookie', set).end(headers.cookie ?? 'none')
  })
  const { main } = await proxied(t, origin, { forwardCookies: true })
  const answerTo = (cookie: string) => send(main, { headers: { cookie } })
  const { headers, body } = await answerTo(`${own.map((name) => `${name}=x`).join('; ')}; c=3;d = 4`)
  assert.deepEqual(headers['set-cookie'], ['a=1', 'b=sallyport-x'])
  assert.equal(body, 'c=3;d = 4')
  assert.equal((await answerTo('a=1;  b=sallyport-;')).body, 'a=1;  b=sallyport-;')
  assert.equal((await answerTo('sallyport-session-0a=1')).body, 'none')
})

test('credentials are presented in order, and the caller’s headers of their names are removed', async (t) => {
  const origin = await listening(t, (request, response) => response.end(JSON.stringify(request.headers)))
  const { main } = await proxied(t, origin, { forwardAuthorization: true }, [
    credentialOf('login', async () => ({ header: 'authorization', value: 'Bearer a', accessToken: 'a' })),
    credentialOf('exchange', (_request, held) => ({
      header: 'x-token',
      value: `Bearer ${held?.accessToken}b`,
    })),
  ])

  const { body } = await send(main, { headers: { authorization: 'Bearer mine', 'X-Token': 'mine' } })
  const { authorization, 'x-token': token } = JSON.parse(body)
  assert.deepEqual([authorization, token], [undefined, 'Bearer ab'])
})

test('the caller’s headers are removed in whatever case a plugin writes their names', async (t) => {
  const origin = await listening(t, (request, response) => response.end(JSON.stringify(request.rawHeaders)))
  const names = ['X-User', 'X_Team']
  const { main } = await proxied(t, origin, {}, [
    credentialOf('key', () => ({ header: 'X-Api-Key', value: 'ours' })),
    providing('adding', HeaderSource, { names, headers: () => [['X-User', 'ours']] }),
  ])

  const mine = { 'x-user': 'mine', 'X-Team': 'mine', 'x-api-key': 'mine' }
  const { body } = await send(main, { headers: mine })
  assert.doesNotMatch(body, /mine/)
  assert.equal(body.match(/ours/g)?.length, 2)
})

const failures: readonly (readonly [string, Credential['present'], number, string | undefined])[] = [
  [
    'not ready',
    () => {
      throw new UpstreamError('LOGIN_PENDING', 'sign in first', { statusCode: 503, retryAfter: 9 })
    },
    503,
    '9',
  ],
  ['late', () => new Promise(() => {}), 503, '5'],
  [
    'broken',
    () => {
      throw new Error('the secret is hunter2')
    },
    502,
    undefined,
  ],
  ['rejected', () => Promise.reject(new Error('the secret is hunter2')), 502, undefined],
  ['null', () => null as never, 502, undefined],
  ['a text', () => 'Bearer hunter2' as never, 502, undefined],
  ['without a value', () => ({ header: 'authorization' }) as never, 502, undefined],
  ['without a value later', async () => ({ header: 'authorization' }) as never, 502, undefined],
  ['empty', () => ({ header: 'authorization', value: '' }), 502, undefined],
]
for (const [kind, present, expected, retryAfter] of failures) {
  test(`a credential that is ${kind} causes a ${expected}, and the target gets no request`, async (t) => {
    let asked = 0
    const origin = await listening(t, (_request, response) => response.end(String(++asked)))
    const { main } = await proxied(t, origin, {}, [credentialOf('first', present, 50)])

    const { status, headers, body } = await send(main, call(3))
    assert.deepEqual([status, headers['retry-after'], asked], [expected, retryAfter, 0])
    const { id, error } = JSON.parse(body)
    assert.equal(id, 3)
    assert.match(error.data.error, /^(?:login|credential)_/)
    assert.doesNotMatch(body, /hunter2/)
  })
}

test('a body too large to keep is not sent twice: the caller gets a 503 with Retry-After', async (t) => {
  const target = await targetWithToken(t, 'v2')
  const { main } = await proxied(t, target.origin, {}, [countingCredential().entry])
  const body = Buffer.alloc(17 * 1024 * 1024, 'x')

  const { status, headers } = await send(main, { method: 'POST', body })
  assert.deepEqual([status, headers['retry-after']], [503, '1'])
  assert.equal(target.seen.length, 1)
  assert.equal((await send(main, { method: 'POST', body })).body, 'welcome')
})

const held = credentialOf('held', () => ({ header: 'authorization', value: 'Bearer mine' }))

/** A target that redirects `/from`, and responds at `/to` with the request. */
const redirecting =
  (status: number, location: string): RequestListener =>
  (request, response) => {
    const { method, url, headers } = request
    void text(request).then((body) => {
      if (url === '/to?a=1') response.end(JSON.stringify([method, headers.authorization, body]))
      else response.writeHead(status, { location }).end()
    })
  }

test('a redirect within the origin keeps method, body and credential (T11)', async (t) => {
  for (const status of [301, 302, 307, 308]) {
    const { main } = await proxied(t, await listening(t, redirecting(status, '/to?a=1')), {}, [held])
    const { body } = await send(main, { method: 'PUT', path: '/from', body: 'kept' })
    assert.deepEqual(JSON.parse(body), ['PUT', 'Bearer mine', 'kept'])
  }
})

test('only a GET follows a 303, and no other request is repeated', async (t) => {
  const { main } = await proxied(t, await listening(t, redirecting(303, '/to?a=1')), {}, [held])
  const { body } = await send(main, { path: '/from' })
  assert.deepEqual(JSON.parse(body), ['GET', 'Bearer mine', ''])

  const posted = await send(main, { ...call(1), path: '/from' })
  assert.deepEqual([posted.status, JSON.parse(posted.body).error.data.error], [502, 'target_redirect'])
})

test('a redirect to another origin is not followed with a credential, and loops end (T11, CL-23)', async (t) => {
  let strayed = 0
  const other = await listening(t, (_request, response) => response.end(String(++strayed)))
  const { port } = new URL(other)
  const elsewhere = [
    other,
    `//127.0.0.1:${port}/`,
    `http://localhost:${port}/to?a=1`,
    'https://127.0.0.1/',
    '/again',
    'http://',
  ]

  for (const location of elsewhere) {
    const { main } = await proxied(t, await listening(t, redirecting(307, location)), {}, [held])
    const { status, body } = await send(main, { ...call(1), path: '/from' })
    assert.equal(status, 502, location)
    assert.doesNotMatch(body, /127\.0\.0\.1|localhost/)
  }
  assert.equal(strayed, 0)
})

test('without a credential the caller gets the redirect', async (t) => {
  const { main } = await proxied(t, await listening(t, redirecting(307, 'https://else.example/')))
  const { status, headers } = await send(main, { path: '/from' })
  assert.deepEqual([status, headers.location], [307, 'https://else.example/'])
})

test('added headers replace the caller’s own, in any case', async (t) => {
  const origin = await listening(t, (request, response) => response.end(JSON.stringify(request.rawHeaders)))
  const source: Entry = providing('source', HeaderSource, {
    names: ['x-tenant', 'x-empty'],
    headers: () => [
      ['x-tenant', 'one'],
      ['x-tenant', 'two'],
    ],
  })
  const { main } = await proxied(t, origin, {}, [source])
  const { body } = await send(main, { headers: { 'X-TENANT': 'evil', 'X-Empty': 'evil' } })
  const raw: string[] = JSON.parse(body)
  assert.deepEqual(raw.slice(-4), ['x-tenant', 'one', 'x-tenant', 'two'])
  assert.ok(!raw.includes('evil'))
})

test('TRACE reaches no target: its response would show the credential', async (t) => {
  const target = await rawTarget(t, ({ headers }) => {
    const shown = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    return `HTTP/1.1 200 OK\r\nContent-Type: message/http\r\nContent-Length: ${shown.length}\r\n\r\n${shown}`
  })
  const more = [{ use: 'credential/static-bearer', with: { token: 'mine' } }]
  const { main } = await proxied(t, target.origin, {}, more)

  assert.match((await answerTo(main, 'TRACE / HTTP/1.1\r\nHost: a\r\n\r\n')).line, /^HTTP\/1.1 404 /)
  assert.deepEqual(target.seen, [])
})
