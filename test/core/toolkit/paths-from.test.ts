import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pathsFrom } from 'sallyport/toolkit'

test('a path is resolved in the folder, and an unset option has no path', () => {
  const path = pathsFrom('/etc/sallyport')
  assert.equal(path('keys/own'), '/etc/sallyport/keys/own')
  assert.equal(path('/keys/own'), '/keys/own')
  assert.equal(path(''), '/etc/sallyport')
  assert.equal(path(undefined), undefined)
})
