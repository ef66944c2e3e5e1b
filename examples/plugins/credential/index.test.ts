import assert from 'node:assert/strict'
import { test } from 'node:test'
import { booted, contractSuite, listening, serving } from 'sallyport/testing'
import plugin from './index.js'

test('the target gets the key, and not the header that the caller sent', async (t) => {
  const target = await listening(t, ({ headers }, response) => response.end(JSON.stringify(headers)))
  const { addresses } = await serving(t, [
    { use: 'listen/http', with: { address: '127.0.0.1:0' } },
    { use: 'auth/anonymous' },
    { use: plugin, with: { key: 'a-key' } },
    { use: 'forward/http', with: { target } },
  ])
  const sent = { 'x-api-key': 'mine', authorization: 'Bearer x' }
  const response = await fetch(addresses.main ?? '', { headers: sent })
  const seen: Record<string, string> = JSON.parse(await response.text())
  assert.equal(seen['x-api-key'], 'a-key')
  assert.equal(seen['authorization'], undefined)
})

test('the gateway does not start without a key, or with one that no header can carry', async (t) => {
  await assert.rejects(booted(t, [{ use: plugin }]), { code: 'CONFIG_INVALID' })
  await assert.rejects(booted(t, [{ use: plugin, with: { key: 'two\nlines' } }]), /cannot stand in a header/)
})

contractSuite('my-credential', () => ({ list: [{ use: plugin, with: { key: 'a-key' } }] }))
