import assert from 'node:assert/strict'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { userFolder } from 'sallyport/toolkit'

test('the folder of the user is that of the XDG variable, unless it is unset, empty or relative', () => {
  assert.equal(userFolder('state', { XDG_STATE_HOME: '/var/mine' }), '/var/mine/sallyport')
  assert.equal(userFolder('data', { XDG_STATE_HOME: '/x' }), join(homedir(), '.local/share/sallyport'))
  for (const value of [undefined, '', 'relative', './here']) {
    assert.equal(userFolder('cache', { XDG_CACHE_HOME: value }), join(homedir(), '.cache/sallyport'))
  }
})
