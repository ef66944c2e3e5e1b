import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { call, send } from '../../forward/proxied.js'
import { startAuthorizationServer } from './authorization-server.js'
import { proxyWithLogin, signInUser } from './proxy-with-login.js'

/** Two proxies with one store. The user has signed in, and does not open the page of the next login. */
async function twoProxies(t: TestContext) {
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t, (url) => (urls.length === 1 ? fetch(url) : undefined))
  const directory = folder(t)
  const proxy = async () => {
    const options = { login: 'start', timeout: '500ms' }
    const { main } = await proxyWithLogin(t, server.target, options, { directory })
    return async () => (await send(main, call(1))).status
  }
  const first = await proxy()
  await eventually(async () => (await first()) === 200)
  return { server, urls, first, second: await proxy() }
}

test('while a login for more scopes waits for the user, all requests use the existing session (CL-11, CL-22)', async (t) => {
  const { server, urls, first, second } = await twoProxies(t)
  server.life = 2
  server.revokeTokens()
  assert.deepEqual([await first(), await second()], [200, 200])

  server.neededScope = 'write'
  assert.equal(await first(), 503)
  assert.equal(urls.length, 2)
  server.neededScope = undefined
  const refreshes = server.grantsOf('refresh_token')
  for (const end = Date.now() + 4000; Date.now() < end; await setTimeout(50))
    assert.deepEqual([await first(), await second()], [200, 200])
  assert.ok(server.grantsOf('refresh_token') >= refreshes + 2)
  server.revokeTokens()
  assert.deepEqual([await second(), await first()], [200, 200])

  server.neededScope = 'write'
  assert.deepEqual([await first(), await second()], [503, 503])
  await fetch(urls.at(-1) ?? '')
  await eventually(async () => (await first()) === 200)
  assert.equal(await second(), 200)
  for (const end = Date.now() + 3000; Date.now() < end; await setTimeout(50))
    assert.deepEqual([await first(), await second()], [200, 200])
  assert.equal(urls.length, 2)
})

test('a 401 of another scheme, such as that of a path with a password, begins neither a login nor a refresh', async (t) => {
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t)
  const { main } = await proxyWithLogin(t, server.target)
  server.challenge = 'Basic realm="admin"'
  assert.equal((await send(main, call(1))).status, 401)
  server.challenge = undefined
  assert.equal((await send(main, call(1))).status, 200)

  server.challenge = 'Basic realm="admin"'
  server.revokeTokens()
  assert.equal((await send(main, call(1))).status, 502)
  assert.deepEqual([urls.length, server.grantsOf('refresh_token')], [1, 0])
  server.challenge = undefined
  assert.equal((await send(main, call(1))).status, 200)
  assert.deepEqual([urls.length, server.grantsOf('refresh_token')], [1, 1])
})
