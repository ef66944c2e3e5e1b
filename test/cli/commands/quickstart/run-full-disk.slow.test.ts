import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { noDisk, smallDisk } from '#kit/small-disk.js'
import { startedProgram } from '#kit/started-program.js'

test('on a full disk quickstart names the file that cannot be written, and leaves nothing behind', {
  skip: noDisk,
}, async (t) => {
  const { mountPoint, faults } = smallDisk(t, '64k')
  faults.full.begin()

  const started = startedProgram(t, ['quickstart', '--port', '0'], {
    environment: { TMPDIR: mountPoint },
    patience: 30,
  })

  assert.equal(await started.ended(), 1)
  assert.match(started.output.stderr, /cannot write \S+gateway\.yaml: the disk is full/)
  assert.deepEqual(readdirSync(mountPoint), ['filler'])
})
