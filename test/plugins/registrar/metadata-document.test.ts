import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startAuthorizationServer } from '../credential/oauth/authorization-server.js'
import { dynamicRegistrars, registrationRequest, startRegistrars } from './registering.js'

test('a client ID that is a URL is used where the issuer supports it, without a secret (CL-16, CL-17)', async (t) => {
  const server = await startAuthorizationServer(t)
  const url = 'https://app.example/client.json'
  const { register } = await startRegistrars(t, [
    { use: 'registrar/metadata-document', with: { url } },
    ...dynamicRegistrars,
  ])
  const metadata = { client_id_metadata_document_supported: true }
  assert.deepEqual(await register(registrationRequest(server.origin, { metadata })), {
    issuer: server.origin,
    clientId: url,
    tokenEndpointAuthMethod: 'none',
  })
  assert.equal((await register(registrationRequest(server.origin)))?.clientId, 'registered')
  assert.equal(await register(registrationRequest('https://other.example', { metadata: {} })), undefined)
})

for (const url of [
  'http://app.example/client.json',
  'https://app.example',
  'https://app.example/',
  'https://app.example/a#b',
  'https://user@app.example/a',
  'https://app.example/a/../b',
  'https://app.example/./b',
  'client',
]) {
  test(`${url} is not a valid client ID URL (CL-17)`, async (t) => {
    const entries = [{ use: 'registrar/metadata-document', with: { url } }]
    await assert.rejects(startRegistrars(t, entries), { code: 'CONFIG_INVALID' })
  })
}
