import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathsFrom } from 'sallyport/toolkit'
import { recordedLog } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { RedisAddress } from '#plugins/store/redis/address.js'

test('with missing certificates the file of the URL is no longer watched', async (t) => {
  const urlFile = join(folder(t, { url: 'redis://127.0.0.1:1' }), 'url')
  chmodSync(urlFile, 0o600)
  const path = pathsFrom('')
  const [failed, open] = [recordedLog(), recordedLog()]
  assert.throws(() => new RedisAddress({ urlFile, caCertPath: `${urlFile}-none` }, { ...failed, path }))
  const place = new RedisAddress({ urlFile }, { ...open, path })
  t.after(() => place.close())

  writeFileSync(urlFile, 'no URL')

  await eventually(() => open.lines.length > 0)
  assert.deepEqual(failed.lines, [])
})
