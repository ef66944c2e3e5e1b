import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { faultyDisk, noCompiler } from '#kit/faulty-disk.js'
import { folder } from '#kit/folder.js'
import { ownSources } from '#kit/own-sources.js'
import { spawned } from '#kit/spawned.js'

test('on a disk that takes 50 ms for a sync, requests that need no write wait less than 20 ms', {
  skip: noCompiler ?? false,
}, async (t) => {
  const { environment } = faultyDisk(t, { syncMs: 50 })
  const script = ownSources.script(join(import.meta.dirname, 'slow-disk-process.ts'))
  const command = [process.execPath, ...ownSources.node, script, folder(t)]
  const { output, closed } = spawned(t, command, { env: { ...process.env, ...environment } })
  const [code] = await closed
  assert.equal(code, 0, output.stderr)
  t.diagnostic(output.stdout)

  const { p99, commits } = JSON.parse(output.stdout)
  assert.ok(p99 < 20, `${p99} ms`)
  // Four that publish share a sync, and so do four that keep state.
  assert.ok(commits > 100, `${commits} commits`)
})
