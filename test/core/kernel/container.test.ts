import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePlugin, many, one } from 'sallyport'
import { boot } from 'sallyport/embed'
import { contextFor } from '#kit/booted.js'

const context = contextFor({})

test('a provider may come after the plugin that requires it, and a scope adds to outer scopes', async () => {
  const Salt = one<string>('salt')
  const Spice = many<string>('spice')
  const seen: Record<string, unknown> = {}
  const give = (id: string, salt?: string) =>
    definePlugin({
      name: `give ${id}`,
      api: 1,
      provides: salt === undefined ? [Spice] : [Spice, Salt],
      setup(gateway) {
        gateway.provide(Spice, id)
        if (salt !== undefined) gateway.provide(Salt, salt)
      },
    })
  const look = (id: string) =>
    definePlugin({
      name: `look ${id}`,
      api: 1,
      requires: [Salt],
      setup(gateway) {
        const salt = gateway.use(Salt)
        const spices = gateway.use(Spice)
        gateway.onStart(() => {
          seen[id] = [salt(), ...spices()]
        })
      },
    })

  const running = await boot(
    [
      { use: look('root') },
      { scope: '/own', plugins: [{ use: look('own') }, { use: give('b', 'fine') }] },
      { scope: '/none', plugins: [{ use: look('none') }] },
      { use: give('a', 'coarse') },
    ],
    context,
  )
  await running.stop()

  assert.deepEqual(seen, { root: ['coarse', 'a'], own: ['fine', 'a', 'b'], none: ['coarse', 'a'] })
})
