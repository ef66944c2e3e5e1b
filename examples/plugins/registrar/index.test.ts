import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClientRegistrar, definePlugin } from 'sallyport'
import { booted, contractSuite } from 'sallyport/testing'
import plugin from './index.js'

test('the registrar returns the client of an issuer, and none for another issuer', async (t) => {
  const wanted = { metadata: {}, redirectUris: [], grantTypes: [], scopes: [], fetch }
  const found: unknown[] = []
  const asking = definePlugin({
    name: 'asking',
    api: 1,
    requires: [ClientRegistrar],
    setup(gateway) {
      const registrars = gateway.use(ClientRegistrar)
      gateway.onStart(async () => {
        for (const issuer of ['https://idp.example', 'https://idp.example/'])
          for (const registrar of registrars()) found.push(await registrar.register({ ...wanted, issuer }))
      })
    },
  })
  const clients = { 'https://idp.example': 'mine' }
  await booted(t, [{ use: plugin, with: { clients } }, { use: asking }])
  assert.deepEqual(found, [{ issuer: 'https://idp.example', clientId: 'mine' }, undefined])
})

contractSuite('my-registrar', () => ({
  list: [{ use: plugin, with: { clients: { 'https://one.example': 'mine' } } }],
}))
