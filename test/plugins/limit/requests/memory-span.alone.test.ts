import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { ownSources } from '#kit/own-sources.js'

const MEASURE = `
import { MemorySpan } from '#plugins/limit/requests/memory-span.js'
import { Counter, countAll } from '#plugins/limit/requests/counter.js'
const limit = { by: 'address', rate: { count: 100, seconds: 3600 }, burst: undefined }
const counter = new Counter(limit, (options) => new MemorySpan(options))
const take = (name) => countAll([counter], [{ index: 0, name, cost: 1, before: 0 }], [])
const kept = () => (gc(), process.memoryUsage().heapUsed)
const each = async (count, name) => {
  const begun = performance.now()
  for (let index = 0; index < count; index++) await take(name(index))
  return ((performance.now() - begun) / count) * 1000
}
const before = kept()
const fresh = await each(100_000, (index) => 'a' + index)
const full = kept() - before
const made = await each(400_000, (index) => 'b' + index)
const after = kept() - before
await each(100_000, () => 'one')
const one = await each(100_000, () => 'one')
console.log(JSON.stringify({ full, after, fresh, made, one }))
process.exit()
`

test('made-up addresses take no more memory than the first hundred thousand', (t) => {
  const argv = ['--expose-gc', ...ownSources.node, '--input-type=module', '--eval', MEASURE]
  const { full, after, fresh, made, one } = JSON.parse(
    execFileSync(process.execPath, argv, { encoding: 'utf8', cwd: ownSources.folder }),
  )

  const times = `${fresh.toFixed(1)} and then ${made.toFixed(1)} µs for a new address, ${one.toFixed(1)} µs for a known one`
  t.diagnostic(`${Math.round(after / 1e6)} MB; ${times}`)
  assert.ok(after < 1.5 * full, `${full} bytes, and then ${after}`)
  assert.ok(made < 5 * fresh, times)
})
