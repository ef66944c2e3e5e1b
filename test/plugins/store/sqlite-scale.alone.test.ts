import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { StoredDocument } from 'sallyport'
import { folder } from '#kit/folder.js'
import { server } from '../registry/registry.js'
import { forever, storeOf } from './catalogue-stores.js'

test('20,000 documents are written and read while the event loop goes on', async (t) => {
  const store = (await storeOf(t, 'store/sqlite', { directory: folder(t) }))('main')
  const all: StoredDocument[] = Array.from({ length: 20_000 }, (_, index) => ({
    ...{ name: `a.example/${index}`, version: '1.0.0' },
    document: Buffer.from(JSON.stringify(server(`a.example/${index}`, 'x'.repeat(1_000)))),
  }))
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await setTimeout(20)
  delay.reset()
  const began = performance.now()
  await store.write({ changed: all, removed: [], all, bookmark: undefined }, forever)
  const written = performance.now()
  const stored = await store.read(undefined, forever)
  const readAt = performance.now()
  delay.disable()
  t.diagnostic(
    `written in ${Math.round(written - began)} ms, read in ${Math.round(readAt - written)} ms, longest pause ${Math.round(delay.max / 1e6)} ms`,
  )
  const payloads = (stored?.payloads ?? []) as Iterable<Uint8Array>
  assert.ok([...payloads].reduce((sum, { length }) => sum + length, 0) > 20_000_000)
  // 14 ms on a machine that has nothing else to do.
  assert.ok(delay.max < 100e6, `${delay.max / 1e6} ms`)
})
