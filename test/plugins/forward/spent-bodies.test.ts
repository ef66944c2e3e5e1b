import assert from 'node:assert/strict'
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'
import { SpentBodies } from '../../../plugins/forward/spent-bodies.js'

const MIB = 1024 ** 2
const PIECE = 64 * 1024

interface Collection {
  readonly detail: { readonly kind: number }
}

/** Lets pieces of bodies come and go, and counts how often V8 collects young objects. */
async function collectionsOver(bytes: number): Promise<number> {
  const spent = new SpentBodies()
  const collections: Collection[] = []
  const observer = new PerformanceObserver((list) => {
    collections.push(...(list.getEntries() as unknown as Collection[]))
  })
  observer.observe({ entryTypes: ['gc'] })
  for (let gone = 0; gone < bytes; gone += PIECE) {
    spent.add(Buffer.allocUnsafeSlow(PIECE))
    await setImmediate()
  }
  observer.disconnect()
  return collections.filter(({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MINOR).length
}

test('the bytes of bodies that went through are freed before they are many', async (t) => {
  const collections = await collectionsOver(240 * MIB)
  t.diagnostic(`${collections} collections`)
  // Left to itself V8 has 6 to 11.
  assert.ok(collections >= 15)
})

test('no code that runs later is given the means to collect', async () => {
  await collectionsOver(16 * MIB)
  assert.equal(runInNewContext('typeof gc'), 'undefined')
})
