import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyRequest } from 'fastify'
import { Authenticator, BrowserSession, definePlugin, UpstreamError } from 'sallyport'
import { booted } from 'sallyport/testing'
import { plugin, providing } from '#kit/plugin.js'

/** A session by a header, whose token is in it. */
const sessions = definePlugin({
  name: 'sessions',
  api: 1,
  provides: [BrowserSession],
  setup(gateway) {
    const token = ({ headers }: FastifyRequest) => {
      const value = headers['x-session']
      if (value === 'broken') throw new Error('broken')
      if (value === 'away') throw new UpstreamError('AWAY', 'it is away', { statusCode: 503 })
      return typeof value === 'string' ? value : undefined
    }
    const paths = { person: () => undefined, signInPath: () => '/in', signOutPath: '/out' }
    gateway.provide(BrowserSession, { token, ...paths })
    gateway.provide(BrowserSession, { token: async () => undefined, ...paths })
  },
})

const authenticator = providing('authenticator', Authenticator, {
  provider: 'own',
  authenticate: ({ credentials }) =>
    credentials.kind === 'bearer' && credentials.token.startsWith('good')
      ? { identity: { provider: 'own', subject: credentials.token, claims: {} } }
      : { rejection: { kind: 'invalid', cause: 'other' } },
})

const routes = plugin('routes', ({ http }) => {
  const handler = ({ identity }: FastifyRequest) => identity?.subject ?? 'nobody'
  for (const [url, config] of Object.entries({
    '/closed': {},
    '/session': { session: true },
    '/public': { public: true },
    '/both': { public: true, session: true },
  }))
    http.route({ method: ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'], url, config, handler })
})

const list = [{ use: sessions }, authenticator, routes]

test('a session admits GET and HEAD to routes that accept sessions, and only without Authorization', async (t) => {
  const app = await booted(t, list)
  const status = async (
    method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE' | 'PATCH',
    url: string,
    more = {},
  ) => (await app.inject({ method, url, headers: { 'x-session': 'good', ...more } })).statusCode

  for (const method of ['GET', 'HEAD'] as const) {
    assert.equal(await status(method, '/session'), 200)
    assert.equal(await status(method, '/closed'), 401)
    assert.equal(await status(method, '/nowhere'), 404)
    assert.equal(await status(method, '/session', { authorization: 'Bearer bad' }), 401)
    assert.equal(await status(method, '/session', { authorization: 'Bearer goodness' }), 200)
    assert.equal(await status(method, '/session', { 'x-session': 'bad' }), 401)
    assert.equal(await status(method, '/session', { 'x-session': 'broken' }), 503)
    assert.equal(await status(method, '/session', { 'x-session': 'away' }), 503)
  }
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH'] as const) {
    assert.equal(await status(method, '/session'), 401)
    assert.equal(await status(method, '/session', { 'x-http-method-override': 'GET' }), 401)
    assert.equal(await status(method, '/nowhere'), 401)
  }
  assert.equal((await app.inject('/session')).statusCode, 401)
})

test('a public route that accepts sessions gets the identity of one, and admits every request all the same', async (t) => {
  const app = await booted(t, list)
  const body = async (url: string, session: string) =>
    (await app.inject({ url, headers: { 'x-session': session } })).body
  assert.equal(await body('/both', 'good'), 'good')
  assert.equal(await body('/public', 'good'), 'nobody')
  for (const session of ['bad', 'broken', 'away']) assert.equal(await body('/both', session), 'nobody')
  const posted = await app.inject({ method: 'POST', url: '/both', headers: { 'x-session': 'good' } })
  assert.equal(posted.body, 'nobody')
})
