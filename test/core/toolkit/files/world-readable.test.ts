import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { warnIfWorldReadable } from 'sallyport/toolkit'
import { recordedLog } from '#kit/booted.js'
import { folder } from '#kit/folder.js'

test('only a secret file that every user may read causes a warning', {
  skip: process.platform === 'win32',
}, (t) => {
  const path = join(folder(t, { secret: 'x' }), 'secret')
  const { log, lines } = recordedLog()
  for (const mode of [0o600, 0o640, 0o604, 0o644]) {
    chmodSync(path, mode)
    warnIfWorldReadable(path, log)
  }
  warnIfWorldReadable(`${path}-absent`, log)
  assert.deepEqual(
    lines.map((line) => [line['level'], line['path']]),
    [
      ['warn', path],
      ['warn', path],
    ],
  )
})
