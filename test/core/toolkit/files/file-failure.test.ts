import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileFailure } from 'sallyport/toolkit'
import { folder } from '#kit/folder.js'

test('the reason why a file cannot be read is a sentence and the error code', (t) => {
  const root = folder(t, { file: '' })
  const why = (path: string): string => {
    try {
      readFileSync(path)
    } catch (error) {
      return fileFailure(error)
    }
    return assert.fail(path)
  }
  assert.equal(why(join(root, 'none')), 'there is no such file (ENOENT)')
  assert.equal(why(join(root, 'file', 'none')), 'there is no such file (ENOTDIR)')
  assert.equal(why(root), 'it is a folder (EISDIR)')
  assert.equal(fileFailure(Object.assign(new Error('no'), { code: 'EMFILE' })), 'EMFILE')
  assert.equal(fileFailure(new Error('no')), 'no')
  assert.equal(fileFailure('no'), 'unknown')
})
