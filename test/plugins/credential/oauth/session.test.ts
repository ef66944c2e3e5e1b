import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type StateStore, UpstreamError } from 'sallyport'
import { recordedLog } from '#kit/booted.js'
import { OAuthOptions } from '#plugins/credential/oauth/options.js'
import { SessionStore } from '#plugins/credential/oauth/session.js'

test('the age of a failed login counts until the read begins, which may take long', async (t) => {
  const { timers } = t.mock
  timers.enable({ apis: ['Date'], now: 1_000_000 })
  const values = new Map<string, string>()
  const store: StateStore = {
    get: async (key) => {
      timers.tick(100)
      return values.get(key)
    },
    set: async (key, value) => void values.set(key, value),
    delete: async (key) => void values.delete(key),
    take: async (key) => {
      const value = values.get(key)
      values.delete(key)
      return value
    },
    keys: async () => [...values.keys()],
    locked: (_key, work) => work(),
  }
  const options = OAuthOptions.parse({ target: 'https://target.example/mcp' })
  const sessions = new SessionStore(options, () => store, recordedLog().log)

  await sessions.recordFailure(new UpstreamError('LOGIN_TIMEOUT', 'nobody signed in'))
  timers.tick(40)
  assert.equal((await sessions.failureWithin(50))?.code, 'LOGIN_TIMEOUT')
  assert.equal(await sessions.failureWithin(50), undefined)
})
