import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePlugin } from 'sallyport'
import { routeOf } from 'sallyport/toolkit'
import { booted } from '#kit/booted.js'

test('a route is the declared one, never the path that a caller made up', async (t) => {
  const seen: string[] = []
  const plugin = definePlugin({
    name: 'routes',
    api: 1,
    setup({ http }) {
      http.addHook('onResponse', (request, _reply, done) => {
        seen.push(routeOf(request))
        done()
      })
      http.get('/items/:id', { config: { public: true } }, () => 'item')
    },
  })
  const app = await booted(t, [{ use: plugin }])
  await app.inject('/items/7')
  await app.inject('/made-up')
  assert.deepEqual(seen, ['/items/:id', 'unknown'])
})
