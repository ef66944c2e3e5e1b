import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { digestOf } from 'sallyport/toolkit'
import { BearerToken } from '#core/contract/credentials.js'

test('the digest of a token is its hash, which is computed once', () => {
  const bearer = new BearerToken('one')
  const expected = createHash('sha256').update('one').digest('base64url')
  assert.deepEqual(
    [bearer.kind, bearer.token, bearer.digest, bearer.digest],
    ['bearer', 'one', expected, expected],
  )
  assert.equal(digestOf('one'), expected)
})
