import assert from 'node:assert/strict'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { registrationRequest, startRegistrars } from './registering.js'

test('the operator’s client is sent to its issuer and to no other (T3, CL-13)', async (t) => {
  const given = (issuer?: string) => [
    {
      use: 'registrar/given',
      with: { clientId: 'mine', clientSecret: 'my secret', ...(issuer && { issuer }) },
    },
  ]
  const named = await startRegistrars(t, given('https://a.example'))
  assert.equal((await named.register(registrationRequest('https://a.example')))?.clientSecret, 'my secret')
  for (const other of ['https://a.example/', 'https://A.example', 'https://b.example']) {
    await assert.rejects(named.register(registrationRequest(other)), { code: 'CLIENT_OF_ANOTHER_ISSUER' })
  }

  const free = await startRegistrars(t, given())
  // A client that was not accepted is not bound: a mistake must not exclude the right issuer.
  await free.register(registrationRequest('https://a.example'))
  const client = await free.register(registrationRequest('https://b.example'))
  assert.ok(client)
  for (const registrar of free.registrars) await registrar.accepted?.(client)
  await assert.rejects(free.register(registrationRequest('https://a.example')), {
    code: 'CLIENT_OF_ANOTHER_ISSUER',
  })
  assert.equal((await free.register(registrationRequest('https://b.example')))?.clientId, 'mine')
})

test('a secret file that is missing or empty stops the start', async (t) => {
  const directory = folder(t, { empty: '\n' })
  for (const name of ['empty', 'missing']) {
    const options = { clientId: 'mine', clientSecretFile: `${directory}/${name}` }
    await assert.rejects(startRegistrars(t, [{ use: 'registrar/given', with: options }]), {
      code: 'CONFIG_INVALID',
    })
  }
})
