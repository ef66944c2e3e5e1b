import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as contract from 'sallyport'
import * as toolkit from 'sallyport/toolkit'

test('former names are those of today', () => {
  assert.equal(toolkit.lastsWhileListened, toolkit.excludeFromDrain)
  assert.equal(toolkit.spawnLeashed, toolkit.spawnProcessGroup)
  assert.equal(contract.lastsWhileListened, toolkit.excludeFromDrain)
  assert.equal(contract.Crowd, toolkit.Crowd)
})

test('a Crowd is a set with other names for its methods', () => {
  const crowd = new toolkit.Crowd<{ id: number }>()
  const [one, two] = [{ id: 1 }, { id: 2 }]
  crowd.enter(one)
  crowd.enter(two)
  crowd.leave(one)

  assert.deepEqual(crowd.now(), [two])
  assert.equal(crowd.has(one), false)
  assert.equal(crowd.size, 1)
})
