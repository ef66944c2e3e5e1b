import type { TestContext } from 'node:test'
import { type Entry, SecretStore } from 'sallyport'
import { booted } from '#kit/booted.js'
import { plugin } from '#kit/plugin.js'

/** The stores of a list, as a plugin sees them. */
export async function storesOf(t: TestContext, ...entries: Entry[]): Promise<readonly SecretStore[]> {
  let stores: readonly SecretStore[] = []
  const reader = plugin('reader', (gateway) => {
    const all = gateway.use(SecretStore)
    gateway.onStart(() => {
      stores = all()
    })
  })
  await booted(t, [...entries, reader])
  return stores
}
