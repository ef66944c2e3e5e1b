import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { contractSuite } from 'sallyport/testing'
import { folder } from '#kit/folder.js'
import { storesOf } from './stores.js'

contractSuite('secrets/directory', (t) => {
  const path = folder(t, {})
  writeFileSync(join(path, 'key'), 'the value of it', { mode: 0o600 })
  return {
    list: [{ use: 'secrets/directory', with: { path } }],
    fixtures: { secret: { name: 'key', value: 'the value of it' } },
  }
})

test('a directory holds one file for each secret, and no name reads a file outside of it', async (t) => {
  const place = folder(t)
  const directory = join(place, 'secrets')
  mkdirSync(join(directory, '..data'), { recursive: true })
  writeFileSync(join(place, 'outside'), 'stolen')
  writeFileSync(join(directory, '..data', 'mounted'), 'as Kubernetes does\n', { mode: 0o600 })
  symlinkSync(join('..data', 'mounted'), join(directory, 'mounted'))
  const [store] = await storesOf(t, { use: 'secrets/directory', with: { path: directory } })

  assert.equal(await store?.get('mounted'), 'as Kubernetes does')
  for (const name of ['../outside', '..', '.', '', 'none', '/etc/passwd', 'a/b', 'a\0b']) {
    assert.equal(await store?.get(name), undefined, name)
  }
})

test('a path that is no file, or too large for a secret, is refused at once', {
  skip: process.platform === 'win32',
}, async (t) => {
  const path = folder(t, { large: '' })
  spawnSync('mkfifo', [join(path, 'pipe')])
  truncateSync(join(path, 'large'), 2 ** 20 + 1)
  const [store] = await storesOf(t, { use: 'secrets/directory', with: { path } })

  for (const [name, reason] of [
    ['pipe', /no file \(ERR_NO_FILE\)$/],
    ['large', /1048577 bytes, expected at most 1048576$/],
  ] as const) {
    await assert.rejects(async () => store?.get(name), { code: 'SECRET_UNREADABLE', message: reason }, name)
  }
})
