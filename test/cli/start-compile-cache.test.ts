import assert from 'node:assert/strict'
import { chmodSync, readdirSync, statSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { startedProgram } from '#kit/started-program.js'

const skip = !('enableCompileCache' in nodeModule) && 'this Node keeps no compiled code'

test('compiled code is stored only in a folder that other users cannot write', {
  skip,
}, async (t) => {
  const HOME = folder(t)
  const before = process.umask(0)
  t.after(() => process.umask(before))
  const start = async (environment: Readonly<Record<string, string>>): Promise<void> => {
    const argv = ['proxy', 'stdio', 'n', '--target-uri', 'http://127.0.0.1:1/mcp']
    assert.equal(await startedProgram(t, argv, { environment }).ended(), 0)
  }
  const made = ['.cache', '.cache/sallyport', '.cache/sallyport/compiled']

  await start({ HOME })
  assert.deepEqual(
    made.map((each) => statSync(join(HOME, each)).mode & 0o777),
    [0o700, 0o700, 0o700],
  )
  assert.equal(readdirSync(join(HOME, '.cache/sallyport/compiled')).length, 1)

  const other = folder(t, { 'sallyport/compiled/theirs': '' })
  chmodSync(join(other, 'sallyport/compiled'), 0o777)
  await start({ HOME, XDG_CACHE_HOME: other })
  assert.deepEqual(readdirSync(join(other, 'sallyport/compiled')), ['theirs'])
})
