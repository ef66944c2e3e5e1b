import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { program } from '#kit/program.js'
import { noDisk, smallDisk } from '#kit/small-disk.js'

test('on a full disk plugin new says so, and removes the files it has begun', { skip: noDisk }, async (t) => {
  const { mountPoint, faults } = smallDisk(t, '64k')
  faults.full.begin()

  const making = program(t, ['plugin', 'new', 'mine'], { cwd: mountPoint })

  assert.equal(await making.ended(), 2)
  assert.match(making.output.stderr, /the disk is full/)
  assert.deepEqual(readdirSync(mountPoint), ['filler'])
})
