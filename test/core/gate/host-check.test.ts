import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serving } from '#kit/booted.js'
import { listen, plugin } from '#kit/plugin.js'
import { requestRaw } from '#kit/raw.js'

const open = plugin('open', ({ http, internal }) => {
  http.get('/*', { config: { public: true } }, () => 'here')
  internal.get('/*', () => 'here')
})

const list = [
  listen,
  { use: 'auth/anonymous' },
  { use: 'internal/server', with: { address: '127.0.0.1:0' } },
  open,
]

test('a host that is no name and no address is refused on each port, wherever it is opened', async (t) => {
  const { addresses } = await serving(t, list)
  for (const origin of [addresses.main ?? '', addresses.internal ?? '']) {
    for (const host of [
      ...['', ' ', 'me@localhost', 'localhost/x', 'localhost, evil.invalid', 'localhost evil.invalid'],
      ...['localhost:80:80', 'localhost:x', '[::1', '::1', 'http://localhost', 'localhost?a', 'localhost#a'],
      ...['localhost\\x', 'lo\xe4', '*', ':80', 'a%00b', 'localhost:123456'],
    ]) {
      const { status, body } = await requestRaw(origin, 'GET /', [`Host: ${host}`])
      assert.deepEqual([status, JSON.parse(body).error], [400, 'host_invalid'], host)
    }
    for (const host of ['localhost', 'localhost:8080', '127.0.0.1:1', '[::1]:8080', '[::1]', 'localhost:'])
      assert.equal((await requestRaw(origin, 'GET /', [`Host: ${host}`])).status, 200, host)
  }
})

test('an absolute request target with an invalid host is refused', async (t) => {
  const { addresses } = await serving(t, list)
  const main = addresses.main ?? ''
  const host = ['Host: gateway']
  for (const target of ['http://me@gateway/', 'http://a,b/', 'http:///x'])
    assert.equal((await requestRaw(main, `GET ${target}`, host)).status, 400, target)
  assert.equal((await requestRaw(main, 'GET http://gateway/x', host)).status, 200)
})
