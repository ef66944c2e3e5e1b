import assert from 'node:assert/strict'
import { test } from 'node:test'
import { booted } from '#kit/booted.js'
import { plugin } from '#kit/plugin.js'

test('a preflight skips a route of its path that takes none, and reaches one for preflights of any path', async (t) => {
  const routes = plugin('routes', ({ http }) => {
    const config = { public: true }
    http.route({
      method: 'OPTIONS',
      url: '/a',
      config,
      constraints: { preflight: false },
      handler: () => 'plain',
    })
    http.route({
      method: 'OPTIONS',
      url: '/*',
      config,
      constraints: { preflight: true },
      handler: () => 'any',
    })
  })
  const app = await booted(t, [{ use: 'auth/anonymous' }, routes])
  const ask = async (headers: Record<string, string>) =>
    (await app.inject({ method: 'OPTIONS', url: '/a', headers })).body

  const origin = 'http://a.example'
  assert.equal(await ask({ origin, 'access-control-request-method': 'GET' }), 'any')
  for (const headers of [{}, { origin }, { 'access-control-request-method': 'GET' }])
    assert.equal(await ask(headers as Record<string, string>), 'plain')
})
