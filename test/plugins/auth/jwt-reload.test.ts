import assert from 'node:assert/strict'
import { test } from 'node:test'
import { issuing, protectedRoute, serving } from 'sallyport/testing'
import { listen } from '#kit/plugin.js'

test('keys outlive a reload while their provider is away, but not a reload that changes `jwksUrl`', async (t) => {
  const issuer = await issuing(t)
  const listWith = (options: object = {}) => [
    listen,
    { use: 'discovery/issuer' },
    { use: 'auth/jwt', with: { ...issuer.provider, ...options } },
    { use: protectedRoute },
  ]
  const server = await serving(t, listWith())
  const status = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${await issuer.jwt()}` }
    return (await fetch(`${server.addresses.main}/closed`, { headers })).status
  }
  assert.equal(await status(), 200)
  for (const place of [issuer.paths.discovery, issuer.paths.keys])
    issuer.faults.set(place, (_request, response) => response.writeHead(503).end())

  await server.swap(listWith({ clockTolerance: '5s' }))
  assert.equal(await status(), 200)
  await server.swap(listWith({ clockTolerance: '5s' }))
  assert.equal(await status(), 200)

  await server.swap(listWith({ jwksUrl: `${issuer.origin}/others` }))
  assert.equal(await status(), 401)
})

test('keys that were withdrawn are not used after a reload', async (t) => {
  const issuer = await issuing(t)
  const list = [
    listen,
    { use: 'discovery/issuer' },
    { use: 'auth/jwt', with: issuer.provider },
    { use: protectedRoute },
  ]
  const server = await serving(t, list)
  const status = async (token: string): Promise<number> =>
    (await fetch(`${server.addresses.main}/closed`, { headers: { authorization: `Bearer ${token}` } })).status
  const before = await issuer.jwt()
  assert.equal(await status(before), 200)

  await issuer.rotate('second', { alone: true })
  await server.swap(list)

  assert.equal(await status(await issuer.jwt()), 200)
  assert.equal(await status(before), 401)
})
