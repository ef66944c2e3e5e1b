import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withFewFiles } from '#kit/few-files.js'

/** Says whether it has exited itself, by what it knew before, and by what it knows when it may open no more files. */
const ASKING = `
  import { hasExited, thisProcess } from '#plugins/store/files/lock-owner.js'
  const before = await thisProcess()
  const known = await hasExited(before, before)
  const reused = await hasExited({ ...before, started: '1' }, before)
  const free = fill()
  const unreadable = await hasExited(before, before)
  const { started } = await thisProcess()
  free()
  const unknown = await hasExited({ ...before, started }, before)
  console.log(JSON.stringify({ known, reused, unreadable, unknown }))`

const skip = process.platform !== 'linux'

test('a process that runs holds its locks, also while nobody may open the file that tells of it', {
  skip,
}, () => {
  const expected = { known: false, reused: true, unreadable: false, unknown: false }
  assert.deepEqual(withFewFiles(ASKING), expected)
})
