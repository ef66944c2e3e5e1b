import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { withFewFiles } from '#kit/few-files.js'
import { hasExited, isRunning, thisProcess } from '#plugins/store/files/lock-owner.js'

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

test('a process that was killed holds no lock, also while nobody has asked for its end', {
  skip,
}, async (t) => {
  // What replaces the shell asks for the end of no child.
  const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60'])
  t.after(() => parent.kill())
  const [told] = await once(parent.stdout, 'data')
  const pid = Number(told)
  const fields = () => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  await eventually(() => fields()[0] === 'Z')
  const self = await thisProcess()
  const owner = { ...self, pid, started: fields()[19] ?? '' }
  assert.deepEqual([await hasExited(owner, self), await isRunning(owner, self)], [true, false])
})
