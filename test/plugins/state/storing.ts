import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import { definePlugin, type Entry, type List, StateStore } from 'sallyport'
import { booted, recordedLog } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { ownSources } from '#kit/own-sources.js'
import { type Spawned, spawned } from '#kit/spawned.js'

/** A plugin that takes the store of each list that it is in. */
export function takingStores() {
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
  return { use, stores }
}

/** The store of a list, with its log. */
export async function storing(t: TestContext, list: List) {
  const { use, stores } = takingStores()
  const { log, lines, scrubber } = recordedLog()
  await booted(t, [...list, { use }], { log, scrubber })
  const [store] = stores
  assert.ok(store)
  return { store, lines }
}

/** Another process with a store of this entry, and a task of `child.ts`. */
export function another(t: TestContext, entry: Entry, ...task: readonly string[]): Spawned {
  const script = ownSources.script(join(import.meta.dirname, 'child.ts'))
  const command = [process.execPath, ...ownSources.node, script, JSON.stringify(entry), ...task]
  return spawned(t, command, { stdio: ['ignore', 'pipe', 'inherit'] })
}

/** The same once it holds the lock; `killed` lets go of it. */
export async function holding(t: TestContext, entry: Entry): Promise<{ killed(): Promise<unknown> }> {
  const { process: child, output, closed } = another(t, entry, 'hold')
  await eventually(() => output.stdout !== '', 60)
  return {
    killed: () => {
      child.kill('SIGKILL')
      return closed
    },
  }
}

/** The tests of every state store. */
export function storeSuite(kind: string, entryFor: (t: TestContext) => Entry | Promise<Entry>): void {
  test(`${kind} stores any value under any key`, async (t) => {
    const { store } = await storing(t, [await entryFor(t)])
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), fc.string(), async (name, value) => {
        const key = `k/${name}`
        await store.set(key, value)
        assert.equal(await store.get(key), value)
        assert.ok((await store.keys('k/')).includes(key))
        assert.deepEqual(await store.keys('other/'), [])
        await store.delete(key)
        await store.delete(key)
        assert.equal(await store.get(key), undefined)
      }),
      { numRuns: 25 },
    )
  })

  test(`${kind} runs one at a time under a lock, also after one that failed`, async (t) => {
    const { store } = await storing(t, [await entryFor(t)])
    let inside = 0
    const work = async () => {
      assert.equal(++inside, 1)
      await setTimeout(5)
      inside--
      return 'done'
    }
    const failing = store.locked('a', () => Promise.reject(new Error('no')))
    const all = Array.from({ length: 10 }, () => store.locked('a', work))
    await assert.rejects(failing, /no/)
    assert.deepEqual([...new Set(await Promise.all(all))], ['done'])
  })
}
