import assert from 'node:assert/strict'
import { test } from 'node:test'
import { routeOf } from 'sallyport/toolkit'
import { booted } from '#kit/booted.js'
import { plugin } from '#kit/plugin.js'

test('a logged route is the declared one, never the requested path', async (t) => {
  const seen: string[] = []
  const routes = plugin('routes', ({ http }) => {
    http.addHook('onResponse', (request, _reply, done) => {
      seen.push(routeOf(request))
      done()
    })
    http.get('/items/:id', { config: { public: true } }, () => 'item')
  })
  const app = await booted(t, [routes])
  await app.inject('/items/7')
  await app.inject('/made-up')
  assert.deepEqual(seen, ['/items/:id', 'unknown'])
})
