import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registeredClient } from 'sallyport/toolkit'

test('a stored client is read without a private key', () => {
  const client = { issuer: 'https://as.example', clientId: 'a', clientSecret: 'b', redirectUris: ['c'] }
  assert.deepEqual(registeredClient.parse({ ...client, clientKey: 'd' }), client)
  assert.equal(registeredClient.safeParse({ clientId: 'a' }).success, false)
})
