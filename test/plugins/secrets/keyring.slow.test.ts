import assert from 'node:assert/strict'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { keyring, noKeyring } from '#kit/keyring.js'
import { storesOf } from './stores.js'

test('the keyring of the system stores secrets by name', {
  skip: noKeyring ?? false,
}, async (t) => {
  const testKeyring = await keyring(folder(t))
  t.after(() => testKeyring.close())
  // A process finds its keyring once, and this file has a process of its own.
  Object.assign(process.env, testKeyring.environment)
  const [store] = await storesOf(t, { use: 'secrets/keyring' })

  assert.equal(await store?.get('github-token'), undefined)
  await store?.keeping?.set('github-token', 'ghp_value')
  assert.equal(await store?.get('github-token'), 'ghp_value')
  assert.deepEqual(testKeyring.entries(), new Map([['github-token', 'ghp_value']]))
  assert.deepEqual(await store?.keeping?.names(), ['github-token'])

  const [other] = await storesOf(t, { use: 'secrets/keyring', with: { service: 'another' } })
  assert.equal(await other?.get('github-token'), undefined)

  assert.equal(await store?.keeping?.delete('github-token'), true)
  assert.equal(await store?.get('github-token'), undefined)
})
