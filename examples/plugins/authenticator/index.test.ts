import assert from 'node:assert/strict'
import { test } from 'node:test'
import { booted, contractSuite, gatewayWith } from 'sallyport/testing'
import plugin from './index.js'

test('the authenticator accepts the key, and refuses everything else', async (t) => {
  const { requestWith } = await gatewayWith(t, [{ use: plugin, with: { key: 'open-sesame' } }])
  assert.equal((await requestWith('Bearer open-sesame')).status, 200)
  assert.equal((await requestWith('Bearer open-sesam')).status, 401)
  assert.equal((await requestWith()).status, 401)
})

test('the gateway does not start without a key', async (t) => {
  await assert.rejects(booted(t, [{ use: plugin }]), { code: 'CONFIG_INVALID' })
})

contractSuite('my-authenticator', () => ({
  list: [{ use: plugin, with: { key: 'open-sesame' } }],
  fixtures: { token: 'open-sesame' },
}))
