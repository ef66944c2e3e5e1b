import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { openRegularFile, readRegularFile } from '#core/toolkit/files/regular-file.js'
import { folder } from '#kit/folder.js'

test('a file is read, and a folder or a missing file fails with the usual error', async (t) => {
  const place = folder(t, { file: 'text' })

  assert.equal(await readRegularFile(join(place, 'file'), 4), 'text')
  await assert.rejects(readRegularFile(place, 2 ** 20), { code: 'EISDIR' })
  await assert.rejects(readRegularFile(join(place, 'none'), 4), { code: 'ENOENT' })
  await assert.rejects(readRegularFile(join(place, 'file'), 3), {
    message: 'it has 4 bytes, expected at most 3',
  })
})

test('a pipe and a device are refused', { skip: process.platform === 'win32' }, async (t) => {
  const pipe = join(folder(t), 'pipe')
  spawnSync('mkfifo', [pipe])

  for (const path of [pipe, '/dev/zero'])
    await assert.rejects(openRegularFile(path), { code: 'ERR_NO_FILE', message: `${path} is no file` })
})
