import type { TestContext } from 'node:test'
import { definePlugin, type Entry, SecretStore } from 'sallyport'
import { booted } from '#kit/booted.js'

/** The stores of a list, as a plugin sees them. */
export async function storesOf(t: TestContext, ...entries: Entry[]): Promise<readonly SecretStore[]> {
  let stores: readonly SecretStore[] = []
  const reader = definePlugin({
    name: 'reader',
    api: 1,
    setup(gateway) {
      const all = gateway.use(SecretStore)
      gateway.onStart(() => {
        stores = all()
      })
    },
  })
  await booted(t, [...entries, { use: reader }])
  return stores
}
