import assert from 'node:assert/strict'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { startAuthorizationServer } from '../credential/oauth/authorization-server.js'
import { dynamicRegistrars, registrationRequest, startRegistrars } from './registering.js'

test('a client is registered once for an issuer, also over a restart, and again after `forget` (CL-13)', async (t) => {
  const directory = folder(t)
  const [server, other] = [await startAuthorizationServer(t), await startAuthorizationServer(t)]
  const first = await startRegistrars(t, dynamicRegistrars, directory)
  const client = await first.register(registrationRequest(server.origin))
  assert.ok(client)
  const second = await startRegistrars(t, dynamicRegistrars, directory)
  assert.deepEqual(await second.register(registrationRequest(server.origin)), client)
  assert.equal(server.times('/register'), 1)

  await second.register(registrationRequest(other.origin))
  assert.equal(other.times('/register'), 1)

  for (const { forget } of second.registrars) await forget?.(client)
  await second.register(registrationRequest(server.origin))
  assert.deepEqual([server.times('/register'), other.times('/register')], [2, 1])
})

test('a client whose secret expires soon is registered again, and so is one with another redirect URI', async (t) => {
  const server = await startAuthorizationServer(t)
  server.registration = { client_secret: 's', client_secret_expires_at: Math.floor(Date.now() / 1000) + 60 }
  const { register } = await startRegistrars(t, dynamicRegistrars)
  await register(registrationRequest(server.origin))
  await register(registrationRequest(server.origin))
  assert.equal(server.times('/register'), 2)

  await register(registrationRequest(server.origin, { redirectUris: ['http://127.0.0.1:1/callback'] }))
  assert.equal(server.times('/register'), 3)
})

test('a client is used until its secret expires, and `forget` removes no other client', async (t) => {
  const server = await startAuthorizationServer(t)
  const { register, registrars } = await startRegistrars(t, dynamicRegistrars)
  const registered = (clientId: string, ...redirectUris: readonly string[]) => {
    const end = Math.floor(Date.now() / 1000) + 3_600
    server.registration = { client_id: clientId, client_secret: 's', client_secret_expires_at: end }
    return register(registrationRequest(server.origin, { redirectUris }))
  }
  const first = await registered('first', 'http://127.0.0.1:1/callback')
  await registered('second', 'http://127.0.0.1:2/callback')
  assert.ok(first)
  for (const { forget } of registrars) await forget?.(first)

  assert.equal((await registered('third', 'http://127.0.0.1:2/callback'))?.clientId, 'second')
  assert.equal((await registered('third', 'http://127.0.0.1:1/callback'))?.clientId, 'third')
})
