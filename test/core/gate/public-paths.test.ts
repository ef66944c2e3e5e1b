import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, PublicPath } from 'sallyport'
import { boot } from 'sallyport/embed'
import { booted, contextFor } from '#kit/booted.js'
import { plugin, providing } from '#kit/plugin.js'
import { onlyGood, routes } from './gated-routes.js'

const context = contextFor({})

test('a public path that would make every path public stops the boot', async () => {
  for (const path of ['', '/', '//']) {
    const opening = providing('opening', PublicPath, path)
    await assert.rejects(boot([opening], context), ConfigError)
  }
})

test('RS-35 below a wildcard only an unambiguous path is public', async (t) => {
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

test('public paths are compared by whole segments of the matched route', async (t) => {
  const openThings = providing('open-things', PublicPath, '/things/free')
  const app = await booted(t, [routes, onlyGood, openThings])

  assert.equal((await app.inject('/things/free/parts')).statusCode, 200)
  assert.equal((await app.inject('/things/fre%65/parts')).statusCode, 200)
  assert.equal((await app.inject('/things/freedom/parts')).statusCode, 401)
  assert.equal((await app.inject('/things/free%2Fx/parts')).statusCode, 401)
  assert.equal((await app.inject('/things/free/nowhere')).statusCode, 404)
})

test('RS-35: a path that is public outside a scope is not public inside it, and the other way round', async (t) => {
  const opening = (path: string) => providing('opening', PublicPath, path)
  const any = plugin('any', ({ http }) => void http.get('/*', () => 'let in'))
  const app = await booted(t, [opening('/outer'), { scope: '/in', plugins: [opening('/inner'), any] }, any])

  assert.equal((await app.inject('/outer/x')).statusCode, 200)
  assert.equal((await app.inject('/in/inner/x')).statusCode, 200)
  for (const path of ['/in/outer/x', '/inner/x', '/in/x', '/x']) {
    assert.equal((await app.inject(path)).statusCode, 401, path)
  }
})
