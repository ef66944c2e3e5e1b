import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { ownSources } from '#kit/own-sources.js'
import { spawned } from '#kit/spawned.js'

const [PROCESSES, ROUNDS] = [4, 250]

test('one of several processes has a lock at a time, although each holder deletes its file', async (t) => {
  const place = folder(t, { count: '0' })
  const [lock, count] = [join(place, 'lock'), join(place, 'count')]
  const script = ownSources.script(join(import.meta.dirname, '../lock-process.ts'))
  const command = [process.execPath, ...ownSources.node, script, lock, count, String(ROUNDS)]
  const all = Array.from({ length: PROCESSES }, () => spawned(t, command, { stdio: 'inherit' }).closed)

  assert.deepEqual([...new Set((await Promise.all(all)).map(([code]) => code))], [0])
  assert.equal(readFileSync(count, 'utf8'), String(PROCESSES * ROUNDS))
  assert.equal(existsSync(lock), false)
})
