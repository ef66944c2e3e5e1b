import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { freePort } from '#kit/free-port.js'
import { call, send } from '../../forward/proxied.js'
import { plant, valuesIn } from '../../state/stored.js'
import { sendJson, startAuthorizationServer } from './authorization-server.js'
import { proxyWithLogin, signInUser } from './proxy-with-login.js'

const many = (main: string, count: number) =>
  Promise.all(Array.from({ length: count }, () => send(main, call(1))))

const statuses = (answers: readonly { readonly status: number }[]) => [
  ...new Set(answers.map(({ status }) => status)),
]

test('tokens of two seconds are refreshed before they expire, and no request fails (CL-22)', async (t) => {
  const server = await startAuthorizationServer(t)
  server.life = 2
  const { urls } = signInUser(t)
  const { main } = await proxyWithLogin(t, server.target, { login: 'start' })

  const failed: number[] = []
  for (const end = Date.now() + 4000; Date.now() < end; await setTimeout(20)) {
    const { status } = await send(main, call(1))
    if (status !== 200) failed.push(status)
  }
  assert.deepEqual([failed, urls.length], [[], 1])
  const refreshes = server.grantsOf('refresh_token')
  assert.ok(refreshes >= 2 && refreshes <= 7, String(refreshes))
  assert.equal(server.at('/token').at(-1)?.form.get('resource'), server.target)
})

test('fifty requests whose token was revoked cause one refresh (T15, CL-22)', async (t) => {
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t)
  const { main } = await proxyWithLogin(t, server.target, { login: 'start' })
  assert.deepEqual(statuses(await many(main, 2)), [200])

  server.revokeTokens()
  assert.deepEqual(statuses(await many(main, 50)), [200])
  assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [1, 1])
})

test('an invalid refresh token leads to one new login (CL-12, CL-22)', async (t) => {
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t)
  const callbackPort = await freePort()
  const { main } = await proxyWithLogin(t, server.target, { login: 'start', callbackPort })
  assert.deepEqual(statuses(await many(main, 1)), [200])

  server.revokeTokens()
  server.revokeGrant()
  assert.deepEqual(statuses(await many(main, 20)), [200])
  assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [1, 2])
  assert.equal(server.times('/register'), 1)
})

test('a refresh refused with an error code of a single vendor leads to a new login with the same client', async (t) => {
  const { urls } = signInUser(t)
  const refusals = [
    [200, 'bad_refresh_token'],
    [200, 'invalid_refresh_token'],
    [400, 'interaction_required'],
  ] as const
  for (const [status, error] of refusals) {
    const server = await startAuthorizationServer(t)
    const callbackPort = await freePort()
    const { main } = await proxyWithLogin(t, server.target, { login: 'start', callbackPort })
    assert.deepEqual(statuses(await many(main, 1)), [200])

    server.revokeTokens()
    server.tokenFaults.push((response) => sendJson(response, status, { error }))
    assert.deepEqual(statuses(await many(main, 5)), [200], error)
    assert.equal(server.times('/register'), 1)
  }
  assert.equal(urls.length, 2 * refusals.length)
})

test('after a refresh whose connection fails the old token is used, and the refresh is retried (CL-22)', async (t) => {
  const server = await startAuthorizationServer(t)
  server.life = 4
  const { urls } = signInUser(t)
  const { main } = await proxyWithLogin(t, server.target, { login: 'start' })
  assert.deepEqual(statuses(await many(main, 1)), [200])
  server.tokenFaults.push(
    (response) => response.destroy(),
    (response) => sendJson(response, 503, {}),
  )

  const failed: number[] = []
  for (const end = Date.now() + 6000; Date.now() < end; await setTimeout(50)) {
    const { status } = await send(main, call(1))
    if (status !== 200) failed.push(status)
  }
  assert.deepEqual([failed, urls.length, server.tokenFaults.length], [[], 1, 0])
  // Once it has worked, each token lasts its two seconds again.
  assert.ok(server.grantsOf('refresh_token') <= 4)
})

test('a second start uses the stored session and refreshes it, without a login (CL-22)', async (t) => {
  const directory = folder(t)
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t)
  const first = await proxyWithLogin(t, server.target, { login: 'start' }, { directory })
  assert.deepEqual(statuses(await many(first.main, 1)), [200])
  await first.running.stop(0)

  server.revokeTokens()
  const asked = server.seen.length
  const second = await proxyWithLogin(t, server.target, { login: 'start' }, { directory })
  assert.deepEqual(statuses(await many(second.main, 5)), [200])
  assert.equal(urls.length, 1)
  const paths = new Set(server.seen.slice(asked).map(({ path }) => path))
  assert.deepEqual([...paths].toSorted(), ['/mcp', '/token'])
})

test('a stored session of an unknown format is logged, and leads to a new login', async (t) => {
  const directory = folder(t)
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t)
  const first = await proxyWithLogin(t, server.target, { login: 'start' }, { directory })
  assert.deepEqual(statuses(await many(first.main, 1)), [200])
  await first.running.stop(0)

  for (const { key } of valuesIn(directory))
    if (key.startsWith('oauth/session/')) plant(directory, key, '{"format":0}', 0)
  const second = await proxyWithLogin(t, server.target, { login: 'start' }, { directory })
  assert.deepEqual(statuses(await many(second.main, 1)), [200])
  assert.equal(urls.length, 2)
  assert.match(JSON.stringify(second.lines), /unknown format/)
})

test('twenty gateways with one store share a login and each refresh (T15)', async (t) => {
  const directory = folder(t)
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t)
  const gateways = await Promise.all(
    Array.from({ length: 20 }, () => proxyWithLogin(t, server.target, { login: 'start' }, { directory })),
  )
  const round = async () => statuses((await Promise.all(gateways.map(({ main }) => many(main, 3)))).flat())
  assert.deepEqual(await round(), [200])
  assert.equal(urls.length, 1)

  // The server ends the session when a refresh token is used twice.
  for (const rounds of [1, 2, 3]) {
    server.revokeTokens()
    assert.deepEqual(await round(), [200])
    assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [rounds, 1])
  }
})

test('a login for more scopes requests them in addition to the earlier ones, with three attempts at most (CL-11)', async (t) => {
  const server = await startAuthorizationServer(t)
  const place = `${server.origin}/.well-known/oauth-protected-resource/mcp`
  server.challenge = `Bearer resource_metadata="${place}", scope="read"`
  const { urls } = signInUser(t)
  const { main } = await proxyWithLogin(t, server.target, { login: 'start' })
  assert.deepEqual(statuses(await many(main, 1)), [200])

  server.neededScope = 'write'
  assert.deepEqual(statuses(await many(main, 5)), [200])
  const asked = () => server.at('/authorize').map(({ query }) => query.get('scope'))
  assert.deepEqual(asked(), ['read', 'read write'])

  server.neededScope = 'ad min'
  const { status } = await send(main, call(1))
  assert.equal(status, 403)
  assert.equal(urls.length, 4)
})

test('another issuer gets neither the refresh token nor the client of the previous one (CL-13)', async (t) => {
  const server = await startAuthorizationServer(t)
  const next = await startAuthorizationServer(t)
  const { urls } = signInUser(t)
  const { main } = await proxyWithLogin(t, server.target, { login: 'start' })
  assert.deepEqual(statuses(await many(main, 1)), [200])
  const refreshToken = server.at('/token').length

  server.revokeTokens()
  server.revokeGrant()
  server.resource = { authorization_servers: [next.origin] }
  const { status } = await send(main, call(1))
  // Tokens of the next issuer are not valid at this target, so the request fails, after one login there.
  assert.equal(status, 502)
  assert.equal(next.times('/register'), 1)
  assert.equal(next.grantsOf('refresh_token'), 0)
  assert.ok(urls.length >= 2 && refreshToken === 1)
})

test('the client credentials grant gets its tokens without a user, and new ones when they expire', async (t) => {
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t)
  const registrars = [{ use: 'registrar/given', with: { clientId: 'mine', clientSecret: 'my secret' } }]
  const options = { grant: 'client_credentials', login: 'start', scopes: ['a'] }
  const { main } = await proxyWithLogin(t, server.target, options, { registrars })
  assert.deepEqual(statuses(await many(main, 3)), [200])

  server.revokeTokens()
  assert.deepEqual(statuses(await many(main, 20)), [200])
  const [{ form, headers } = { form: new URLSearchParams(), headers: {} }] = server.at('/token')
  assert.deepEqual([form.get('scope'), form.get('resource')], ['a', server.target])
  assert.match(headers.authorization ?? '', /^Basic /)
  assert.deepEqual([server.grantsOf('client_credentials'), urls.length], [2, 0])
})

test('a client that the issuer has deleted is registered again, also without a session to refresh', async (t) => {
  signInUser(t)
  for (const grant of ['client_credentials', 'device_code']) {
    const server = await startAuthorizationServer(t)
    server.metadata = { device_authorization_endpoint: `${server.origin}/device` }
    const { main } = await proxyWithLogin(t, server.target, { grant })
    assert.deepEqual(statuses(await many(main, 1)), [200])

    server.revokeTokens()
    server.revokeGrant()
    // With the device flow first the refresh fails, then the login.
    if (grant === 'device_code')
      server.tokenFaults.push((response) => sendJson(response, 400, { error: 'invalid_grant' }))
    server.tokenFaults.push((response) => sendJson(response, 401, { error: 'invalid_client' }))
    assert.deepEqual(statuses(await many(main, 1)), [503])
    await eventually(async () => (await send(main, call(1))).status === 200)
    assert.equal(server.times('/register'), 2, grant)
  }
})

test('a target that refuses every token causes a 502, and no endless row of logins', async (t) => {
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t)
  const { main } = await proxyWithLogin(t, server.target)
  const { listener } = server
  Object.assign(server, {
    listener: (...[request, response]: Parameters<typeof listener>) => {
      server.revokeTokens()
      return listener(request, response)
    },
  })
  assert.equal((await send(main, call(1))).status, 502)
  assert.equal(urls.length, 1)
  await eventually(async () => ((await send(main, call(1))).status === 503 ? true : undefined))
  assert.ok(urls.length <= 12, String(urls.length))
})
