import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { booted, serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { listen, plugin } from '#kit/plugin.js'
import { dial, sendRaw } from '#kit/raw.js'
import { BASE, fileRegistry, server } from '../../plugins/registry/registry.js'

const faulty = plugin('faulty', ({ http }) => {
  http.get('/fault', { config: { public: true } }, () => {
    throw new Error('a fault')
  })
  const errors = (): never => {
    throw new Error('a fault in the form of errors')
  }
  http.get('/faulty-error', { config: { public: true, errors } }, () => {
    throw new Error('a fault')
  })
})

const NOSNIFF = /\r\nx-content-type-options: nosniff\r\n/i
const request = (path: string, more = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${more}Connection: close\r\n\r\n`

test("the gateway's own responses are nosniff", async (t) => {
  const target = await listening(t, (_request, response) => response.end('<script>'))
  const running = await serving(t, [
    listen,
    { use: 'internal/server', with: { address: '127.0.0.1:0' } },
    { use: 'internal/metrics' },
    { use: 'http/cors' },
    { use: 'http/redirect', with: { from: '/from', to: '/to' } },
    { use: 'discovery/resource', with: { resource: 'https://gateway.example.com' } },
    faulty,
    { scope: '/open', plugins: [{ use: 'auth/anonymous' }, { use: 'forward/http', with: { target } }] },
  ])
  const { main = '', internal = '' } = running.addresses
  const preflight = 'Origin: http://a\r\nAccess-Control-Request-Method: GET\r\n'
  const asked: readonly (readonly [status: number, origin: string, bytes: string])[] = [
    [200, main, request('/.well-known/oauth-protected-resource')],
    [302, main, request('/from')],
    [204, main, request('/x', preflight).replace('GET', 'OPTIONS')],
    [401, main, request('/%')],
    [401, main, request('/nowhere')],
    [500, main, request('/fault')],
    [500, main, request('/faulty-error')],
    [431, main, request('/fault', 'A: b\r\n'.repeat(1_100))],
    [400, main, 'no HTTP\r\n\r\n'],
    [200, internal, request('/health')],
    [200, internal, request('/version')],
    [200, internal, request('/metrics')],
    [404, internal, request('/nowhere')],
    [403, internal, request('/health').replace('127.0.0.1', 'elsewhere.example.com')],
  ]
  for (const [status, origin, bytes] of asked) {
    const answer = await sendRaw(origin, bytes)
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `), bytes.slice(0, 200))
    assert.match(answer, NOSNIFF, bytes.slice(0, 200))
  }

  const passed = await sendRaw(main, request('/open/x'))
  assert.match(passed, /^HTTP\/1.1 200 [\s\S]*<script>$/)
  assert.doesNotMatch(passed, NOSNIFF)
})

test('responses of the registry are nosniff, and so is the one of a port with too many connections', async (t) => {
  const app = await booted(t, fileRegistry(t, [server('a.example/one', '1.0.0')]).list)
  for (const url of [BASE, `${BASE}/a.example%2Fone/versions/latest`, `${BASE}?limit=x`, '/openapi.json']) {
    const { headers } = await app.inject(url)
    assert.equal(headers['x-content-type-options'], 'nosniff', url)
  }

  const full = { use: 'listen/http', with: { address: '127.0.0.1:0', maxConnections: 1 } }
  const { main = '' } = (await serving(t, [full])).addresses
  const holder = dial(main)
  await once(holder, 'connect')
  const answer = await sendRaw(main, request('/'))
  assert.match(answer, /^HTTP\/1.1 503 /)
  assert.match(answer, NOSNIFF)
  holder.destroy()
})
