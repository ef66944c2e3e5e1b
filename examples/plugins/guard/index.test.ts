import assert from 'node:assert/strict'
import { test } from 'node:test'
import { booted, contractSuite } from 'sallyport/testing'
import plugin from './index.js'

test('the guard refuses a URL that is too long, and no other', async (t) => {
  const app = await booted(t, [{ use: plugin, with: { longest: 10 } }, { use: 'auth/anonymous' }])
  assert.equal((await app.inject('/short')).statusCode, 404)
  assert.equal((await app.inject('/short?but=not-so')).statusCode, 403)
})

contractSuite('my-guard', () => ({ list: [{ use: plugin, with: { longest: 10 } }] }))
