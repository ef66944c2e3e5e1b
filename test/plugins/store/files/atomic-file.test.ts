import assert from 'node:assert/strict'
import { readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { removeAbandonedDrafts } from '#plugins/store/files/atomic-file.js'

const HOUR = 3_600

test('only drafts are removed that are old, and those of one file alone where it is named', async (t) => {
  const old = ['a.state', 'a.state.1.tmp', 'b.state', 'b.state.1.tmp']
  const home = folder(
    t,
    Object.fromEntries([...old, 'a.state.2.tmp', 'b.state.2.tmp'].map((name) => [name, ''])),
  )
  const then = Date.now() / 1000 - HOUR - 60
  for (const name of old) utimesSync(join(home, name), then, then)

  await removeAbandonedDrafts(home, 'a.state.')
  const kept = ['a.state', 'a.state.2.tmp', 'b.state', 'b.state.2.tmp']
  assert.deepEqual(readdirSync(home).toSorted(), [...kept, 'b.state.1.tmp'].toSorted())
  await removeAbandonedDrafts(home)
  assert.deepEqual(readdirSync(home).toSorted(), kept)
})
