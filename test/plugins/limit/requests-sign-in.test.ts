import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { PAGE, Person } from '#kit/person.js'
import { signInRegistry } from '../pages/sign-in-registry.js'

const RATE = 20

/** The status for a user at an address of their own. */
const statusFrom = (localAddress: string, url: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request(url, { agent: false, localAddress, headers: PAGE }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode))
    })
      .on('error', reject)
      .end()
  })

test('requests from one address keep no user at another address from signing in', async (t) => {
  const limits = [{ by: 'address', rate: `${RATE}/10m` }]
  const plugins = [{ use: 'limit/requests', with: { limits } }]
  const { origin } = await signInRegistry(t, { plugins })
  const page = `${origin}/registry/default`
  for (let count = 0; count < RATE; count++) assert.equal(await statusFrom('127.0.0.2', page), 401)
  assert.equal(await statusFrom('127.0.0.2', page), 429)

  const { url, status } = await new Person().signIn(page)

  assert.deepEqual([url, status], [page, 200])
})
