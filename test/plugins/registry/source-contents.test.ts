import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { freeSparseBuffers, type Server } from '#plugins/registry/source-contents.js'
import { StoredVersion } from '#plugins/registry/stored-version.js'
import { TimeSlice } from '#plugins/registry/time-slice.js'

test('whichever versions are left of the buffers they came in, at most twice their bytes stay in memory', async () => {
  const left = fc.array(fc.record({ size: fc.integer({ min: 1, max: 2_000 }), isLeft: fc.boolean() }), {
    minLength: 1,
  })
  await fc.assert(
    fc.asyncProperty(fc.array(left, { minLength: 1, maxLength: 5 }), async (batches) => {
      const versions = batches.flatMap((batch) => versionsIn(batch))
      const before = versions.map(({ json }) => json)
      const server: Server = { name: 'a.example/one', versions, changedAt: 0 }
      const contents = { servers: new Map([[server.name, server]]), size: versions.length }
      await freeSparseBuffers(contents, new TimeSlice())

      const used = versions.reduce((sum, { body }) => sum + body.length, 0)
      const buffers = new Set(versions.map(({ body }) => body.buffer))
      const held = [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0)
      assert.ok(held <= 2 * used, `${held} bytes for ${used}`)
      assert.deepEqual(
        versions.map(({ json }) => json),
        before,
      )
    }),
  )
})

/** Those that are left, as parts of one buffer that was made for all. */
function versionsIn(batch: readonly { readonly size: number; readonly isLeft: boolean }[]): StoredVersion[] {
  const all = Buffer.allocUnsafeSlow(batch.reduce((sum, { size }) => sum + size, 0))
  let end = 0
  return batch.flatMap(({ size, isLeft }, index) => {
    const body = all.subarray(end, end + size).fill(index)
    end += size
    const dates = { publishedAt: 0, updatedAt: 0 }
    const identity = { name: 'a.example/one', version: `1.0.${index}`, status: 'active' as const }
    const fields = { ...identity, ...dates, sourceDigest: '', bodyTag: '', body }
    return isLeft ? [new StoredVersion(fields, false)] : []
  })
}
