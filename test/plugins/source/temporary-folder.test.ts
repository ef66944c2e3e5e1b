import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withFewFiles } from '#kit/few-files.js'

const OPENING = `
  import { existsSync } from 'node:fs'
  import { TemporaryFolder } from '#plugins/source/temporary-folder.js'
  const outcomes = []
  for (let left = 1; left < 8; left++) {
    const free = fill(left)
    const folder = await TemporaryFolder.open(1_000)
    await folder.close()
    free()
    outcomes.push(existsSync(folder.path))
  }
  console.log(JSON.stringify(outcomes))`

const skip = process.platform === 'win32'

test('a temporary folder is created and removed, also while the process may open no more files', {
  skip,
}, () => {
  assert.deepEqual(
    withFewFiles(OPENING),
    Array.from({ length: 7 }, () => false),
  )
})
