import assert from 'node:assert/strict'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ConfigError } from 'sallyport'
import { userFolder } from 'sallyport/toolkit'
import { enableCompileCache } from '#cli/start.js'

test('the XDG variable sets the user folder, unless it is unset, empty or relative', () => {
  assert.equal(userFolder('state', { XDG_STATE_HOME: '/var/mine' }), '/var/mine/sallyport')
  assert.equal(userFolder('data', { XDG_STATE_HOME: '/x' }), join(homedir(), '.local/share/sallyport'))
  for (const value of [undefined, '', 'relative', './here']) {
    assert.equal(userFolder('cache', { XDG_CACHE_HOME: value }), join(homedir(), '.cache/sallyport'))
  }
})

/** Runs this process as an unknown user, until the test ends. */
function asNobodyKnown(t: TestContext): void {
  const { HOME } = process.env
  delete process.env['HOME']
  process.seteuid?.(54_321)
  t.after(() => {
    process.seteuid?.(0)
    if (HOME !== undefined) process.env['HOME'] = HOME
  })
}

const skip = process.geteuid?.() !== 0 && 'only root can become another user'

test('the error for a user without a home names the variables, and the gateway runs without a cache', {
  skip,
}, (t) => {
  asNobodyKnown(t)

  assert.throws(
    () => userFolder('state', {}),
    (error) => error instanceof ConfigError && /^HOME: .*XDG_STATE_HOME/.test(error.message),
  )
  assert.equal(userFolder('state', { XDG_STATE_HOME: '/kept' }), '/kept/sallyport')
  enableCompileCache({})
})
