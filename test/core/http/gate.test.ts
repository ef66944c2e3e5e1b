import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Authenticator, definePlugin, Guard, PublicPath, Refusal } from 'sallyport'
import { booted } from '../kit/booted.js'

const routes = definePlugin({
  name: 'routes',
  api: 1,
  setup({ http }) {
    http.get('/closed', () => 'closed')
    http.get('/open', { config: { public: true } }, () => 'open')
    http.get('/things/:name/parts', () => 'parts')
  },
})

const onlyGood = definePlugin({
  name: 'only-good',
  api: 1,
  provides: [Authenticator],
  setup(gateway) {
    gateway.provide(Authenticator, {
      provider: 'good',
      authenticate: ({ credentials }) =>
        credentials.kind === 'bearer' && credentials.token === 'good'
          ? { identity: { provider: 'good', subject: 'me', claims: {} } }
          : { rejection: { kind: 'invalid', cause: 'signature' } },
    })
  },
})

test('a route that says nothing needs an accepted caller', async (t) => {
  const app = await booted(t, [{ use: routes }, { use: onlyGood }])

  assert.equal((await app.inject('/closed')).statusCode, 401)
  assert.equal(
    (await app.inject({ url: '/closed', headers: { authorization: 'Bearer bad' } })).statusCode,
    401,
  )
  assert.equal(
    (await app.inject({ url: '/closed', headers: { authorization: 'Bearer good' } })).body,
    'closed',
  )
  assert.equal((await app.inject('/open')).body, 'open')
})

test('an unknown path is 401 for a stranger and 404 for a caller', async (t) => {
  const app = await booted(t, [{ use: routes }, { use: onlyGood }])

  assert.equal((await app.inject('/nowhere')).statusCode, 401)
  assert.equal(
    (await app.inject({ url: '/nowhere', headers: { authorization: 'Bearer good' } })).statusCode,
    404,
  )
  assert.equal((await app.inject('/%zz')).statusCode, 401)
})

test('a list without an authenticator lets nobody in', async (t) => {
  const app = await booted(t, [{ use: routes }])
  assert.equal((await app.inject('/closed')).statusCode, 401)
})

test('guards stand before authentication, on public and unknown routes too', async (t) => {
  const never = definePlugin({
    name: 'never',
    api: 1,
    provides: [Guard],
    setup(gateway) {
      gateway.provide(Guard, () => {
        throw new Refusal(403, 'NEVER', 'nobody passes')
      })
    },
  })
  const app = await booted(t, [{ use: routes }, { use: onlyGood }, { use: never }])

  for (const url of ['/open', '/closed', '/nowhere', '/%zz', '/things/a/parts']) {
    assert.equal((await app.inject(url)).statusCode, 403, url)
  }
})

test('public paths cover whole segments of the route that matched', async (t) => {
  const openThings = definePlugin({
    name: 'open-things',
    api: 1,
    provides: [PublicPath],
    setup: (gateway) => gateway.provide(PublicPath, '/things/free'),
  })
  const app = await booted(t, [{ use: routes }, { use: onlyGood }, { use: openThings }])

  assert.equal((await app.inject('/things/free/parts')).statusCode, 200)
  assert.equal((await app.inject('/things/fre%65/parts')).statusCode, 200)
  assert.equal((await app.inject('/things/freedom/parts')).statusCode, 401)
  assert.equal((await app.inject('/things/free%2Fx/parts')).statusCode, 401)
  assert.equal((await app.inject('/things/free/nowhere')).statusCode, 404)
})

test('a scope has routes, unknown paths and a gate of its own', async (t) => {
  const app = await booted(t, [
    { use: onlyGood },
    { scope: '/inner', plugins: [{ use: 'auth/anonymous' }, { use: routes }] },
    { use: routes },
  ])

  assert.equal((await app.inject('/inner/closed')).body, 'closed')
  assert.equal((await app.inject('/inner/nowhere')).statusCode, 404)
  assert.equal((await app.inject('/closed')).statusCode, 401)
  assert.equal((await app.inject('/nowhere')).statusCode, 401)
})

test('RS-35: a path that is open outside a scope is not open below it, and the other way round', async (t) => {
  const opening = (path: string) =>
    definePlugin({
      name: 'opening',
      api: 1,
      provides: [PublicPath],
      setup: (gateway) => gateway.provide(PublicPath, path),
    })
  const any = definePlugin({
    name: 'any',
    api: 1,
    setup: ({ http }) => void http.get('/*', () => 'let in'),
  })
  const app = await booted(t, [
    { use: opening('/outer') },
    { scope: '/in', plugins: [{ use: opening('/inner') }, { use: any }] },
    { use: any },
  ])

  assert.equal((await app.inject('/outer/x')).statusCode, 200)
  assert.equal((await app.inject('/in/inner/x')).statusCode, 200)
  for (const path of ['/in/outer/x', '/inner/x', '/in/x', '/x']) {
    assert.equal((await app.inject(path)).statusCode, 401, path)
  }
})
