import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { List } from 'sallyport'
import { booted } from 'sallyport/testing'
import { serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { listen, plugin } from '#kit/plugin.js'

const page = 'https://app.example'
const list: List = [
  { use: 'guard/origin', with: { allowed: [page] } },
  { use: 'http/cors', with: { exposed: ['X-One', 'X-Two'], maxAge: 7 } },
  plugin('routes', ({ http }) => {
    http.get('/open', { config: { public: true } }, () => 'open')
    http.get('/closed', () => 'closed')
  }),
]

test('a page with an allowed origin may read every response, errors too', async (t) => {
  const app = await booted(t, list)
  for (const [url, status] of [
    ['/open', 200],
    ['/closed', 401],
    ['/nowhere', 401],
  ] as const) {
    const { statusCode, headers } = await app.inject({ url, headers: { origin: page } })
    assert.equal(statusCode, status)
    assert.equal(headers['access-control-allow-origin'], page)
    assert.equal(headers['access-control-expose-headers'], 'X-One, X-Two')
    assert.match(String(headers.vary), /\bOrigin\b/)
  }
})

test('any other page, and any request without an origin, gets no CORS headers', async (t) => {
  const app = await booted(t, list)
  for (const headers of [{}, { origin: 'https://evil.example' }]) {
    const answer = await app.inject({ url: '/open', headers })
    assert.equal(answer.headers['access-control-allow-origin'], undefined)
  }
})

test('a response to a request without an origin has Vary: Origin, so that caches keep it apart', async (t) => {
  const app = await booted(t, list)
  const { headers } = await app.inject('/open')
  assert.equal(headers.vary, 'Origin')
})

test('a preflight needs no credentials; a request that only resembles one does', async (t) => {
  const app = await booted(t, list)
  const ask = (headers: Record<string, string>) => app.inject({ method: 'OPTIONS', url: '/closed', headers })
  const wanted = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-a, x-b' }

  const { statusCode, headers } = await ask({ origin: page, ...wanted })
  assert.equal(statusCode, 204)
  assert.equal(headers['access-control-allow-origin'], page)
  assert.equal(headers['access-control-allow-methods'], 'POST')
  assert.equal(headers['access-control-allow-headers'], 'x-a, x-b')
  assert.equal(headers['access-control-max-age'], '7')

  assert.equal((await ask({ origin: 'https://evil.example', ...wanted })).statusCode, 403)
  assert.equal((await ask({ origin: page })).statusCode, 401)
  assert.equal((await ask(wanted)).statusCode, 401)
})

test('a target keeps its own Vary, and the gateway adds Origin', async (t) => {
  const target = await listening(t, (_request, response) => response.setHeader('Vary', 'Accept').end('x'))
  const { addresses } = await serving(t, [
    listen,
    { use: 'auth/anonymous' },
    { use: 'guard/origin', with: { allowed: [page] } },
    { use: 'http/cors' },
    { use: 'forward/http', with: { target } },
  ])
  const { headers } = await fetch(addresses.main ?? '', { headers: { origin: page } })
  assert.equal(headers.get('vary'), 'Accept, Origin')
})
