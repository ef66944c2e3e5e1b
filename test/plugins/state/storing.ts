import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { definePlugin, type List, StateStore } from 'sallyport'
import { booted, recordedLog } from '../../kit/booted.js'

/** The store of a list, with what it logs. */
export async function storing(t: TestContext, list: List) {
  const stores: StateStore[] = []
  const use = definePlugin({
    name: 'taking',
    api: 1,
    requires: [StateStore],
    setup(gateway) {
      const store = gateway.use(StateStore)
      gateway.onStart(() => void stores.push(store()))
    },
  })
  const { log, lines, scrubber } = recordedLog()
  await booted(t, [...list, { use }], { log, scrubber })
  const [store] = stores
  assert.ok(store)
  return { store, lines }
}
