import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Authenticator } from 'sallyport'
import { openAccess } from 'sallyport/toolkit'

const one = (open?: true): Authenticator => ({
  provider: 'one',
  authenticate: () => ({ identity: { provider: 'one', subject: 'somebody', claims: {} } }),
  ...(open !== undefined && { open }),
})

test('callers need no credentials if one authenticator admits everybody, or if the option says so', () => {
  assert.equal(openAccess(() => [], undefined)(), false)
  assert.equal(openAccess(() => [one(), one()], undefined)(), false)
  assert.equal(openAccess(() => [one(), one(true)], undefined)(), true)
  assert.equal(openAccess(() => [one()], true)(), true)
  assert.equal(openAccess(() => [one(true)], false)(), false)
})

test('the first call reads the list, once', () => {
  let looks = 0
  const isOpen = openAccess(() => {
    looks++
    return [one(true)]
  }, undefined)
  assert.equal(looks, 0)
  assert.deepEqual([isOpen(), isOpen(), looks], [true, true, 1])
})
