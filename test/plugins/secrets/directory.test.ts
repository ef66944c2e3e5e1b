import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
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
