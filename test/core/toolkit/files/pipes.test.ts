import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { pipes } from '#core/toolkit/files/pipes.js'
import { folder } from '#kit/folder.js'

test('a pipe can be read once, by any path, and a file many times', {
  skip: process.platform === 'win32',
}, (t) => {
  const home = folder(t, { file: '' })
  const pipe = join(home, 'pipe')
  spawnSync('mkfifo', [pipe])
  const read = (path: string): void => pipes.refuseSecondRead(path, statSync(path))

  read(join(home, 'file'))
  read(join(home, 'file'))
  read(pipe)
  assert.throws(() => read(relative('.', pipe)), { message: /cannot be read again/ })
})
