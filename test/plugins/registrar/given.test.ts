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

test('the secret is added to the operator’s client at its issuer, and to no other client (T3)', async (t) => {
  const issuer = 'https://a.example'
  const options = { clientId: 'mine', clientSecret: 'my secret' }
  const { registrars } = await startRegistrars(t, [{ use: 'registrar/given', with: options }])
  const current = (clientId: string, at: string) => registrars[0]?.current?.({ issuer: at, clientId })
  const accept = (clientId: string, at: string) => registrars[0]?.accepted?.({ issuer: at, clientId })

  assert.equal(await current('mine', issuer), undefined)
  await accept('other', 'https://b.example')
  await accept('mine', issuer)
  await accept('mine', 'https://b.example')
  assert.deepEqual(await current('mine', issuer), { issuer, ...options })
  assert.equal(await current('other', issuer), undefined)
  assert.equal(await current('mine', 'https://b.example'), undefined)
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
