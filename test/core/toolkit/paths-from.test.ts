import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pathsFrom } from 'sallyport/toolkit'

test('a path is relative to the folder, and an option that is not set has none', () => {
  const path = pathsFrom('/etc/sallyport')
  assert.equal(path('keys/own'), '/etc/sallyport/keys/own')
  assert.equal(path('/keys/own'), '/keys/own')
  assert.equal(path(''), '/etc/sallyport')
  assert.equal(path(undefined), undefined)
})
