import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { GatewayServer } from 'sallyport/embed'
import { folder } from '#kit/folder.js'
import { call, proxied, send } from '../../forward/proxied.js'
import { sendJson, startAuthorizationServer } from './authorization-server.js'
import { loginEntries, proxyWithLogin, signInUser } from './proxy-with-login.js'

const internal = { use: 'internal/server', with: { address: '127.0.0.1:0' } }

const readiness = async ({ addresses }: GatewayServer): Promise<string> =>
  (await fetch(`${addresses.internal}/readiness`)).text()

/** A proxy with the client credentials grant, to a target that refuses the calls of one path. */
async function refusingProxy(t: TestContext, status: 401 | 403, challenge: string) {
  const server = await startAuthorizationServer(t)
  const { listener } = server
  Object.assign(server, {
    listener: (...[request, response]: Parameters<typeof listener>) => {
      if (request.url !== '/mcp/refused') return listener(request, response)
      return response.writeHead(status, { 'www-authenticate': challenge }).end()
    },
  })
  const registrars = [{ use: 'registrar/given', with: { clientId: 'mine', clientSecret: 'my secret' } }]
  const options = { grant: 'client_credentials', login: 'start' }
  const { main, running } = await proxied(t, server.target, {}, [
    internal,
    ...loginEntries({ target: server.target, ...options }, { registrars }),
  ])
  const works = async (): Promise<void> => assert.equal((await send(main, call(1))).status, 200)
  return {
    server,
    works,
    readinessText: () => readiness(running),
    refused: async () => (await send(main, { ...call(1), path: '/refused' })).status,
    /** Whether all calls go on while tokens expire. */
    async goesOn(milliseconds: number): Promise<void> {
      const logins = server.grantsOf('client_credentials')
      for (const end = Date.now() + milliseconds; Date.now() < end; await setTimeout(50)) await works()
      assert.ok(server.grantsOf('client_credentials') > logins)
    },
  }
}

test('T15: a caller whose requests the target refuses keeps no other caller from a new token', async (t) => {
  const { server, refused, goesOn } = await refusingProxy(t, 401, 'Bearer error="invalid_token"')
  server.life = 1
  const statuses: number[] = []
  while (statuses.length < 20 && statuses.at(-1) !== 503) statuses.push(await refused())
  assert.equal(statuses.at(-1), 503, 'too many logins for what is refused')
  await goesOn(2500)
})

test('T15: a failed login for more scopes keeps no other caller from a new token', async (t) => {
  const challenge = 'Bearer error="insufficient_scope", scope="more"'
  const { server, works, refused, readinessText, goesOn } = await refusingProxy(t, 403, challenge)
  server.life = 2
  await works()
  server.revokeTokens()
  await works()
  server.tokenFaults.push((response) => sendJson(response, 400, { error: 'invalid_scope' }))
  assert.notEqual(await refused(), 200)
  assert.equal(server.tokenFaults.length, 0)
  assert.match(await readinessText(), /degraded/)
  await goesOn(2500)
  assert.doesNotMatch(await readinessText(), /degraded/)
})

test('a 403 that requires no scopes is passed on, and begins no login', async (t) => {
  const { server, works, refused } = await refusingProxy(t, 403, 'Bearer error="invalid_token"')
  await works()
  assert.deepEqual([await refused(), server.grantsOf('client_credentials')], [403, 1])
})

test('a process that waited for a sign-in which failed does not begin another one', async (t) => {
  const directory = folder(t)
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t)
  const waiting = [1, 2].map(() => proxyWithLogin(t, server.target, {}, { directory }))
  const gateways = await Promise.all(waiting)
  server.tokenFaults.push((response) => sendJson(response, 400, { error: 'invalid_grant' }))

  const answers = await Promise.all(gateways.map(({ main }) => send(main, call(1))))
  assert.deepEqual([answers.map(({ status }) => status), urls.length], [[503, 503], 1])
})

test('readiness reports a failed login, until there is a session of another process', async (t) => {
  const server = await startAuthorizationServer(t)
  const directory = folder(t)
  signInUser(t)
  server.tokenFaults.push((response) => sendJson(response, 400, { error: 'access_denied' }))
  const replica = () =>
    proxied(t, server.target, {}, [
      internal,
      ...loginEntries({ target: server.target, login: 'start' }, { directory }),
    ])
  const first = await replica()
  const readinessText = () => readiness(first.running)
  assert.equal((await send(first.main, call(1))).status, 503)
  assert.match(await readinessText(), /degraded/)

  const second = await replica()
  assert.equal((await send(second.main, call(1))).status, 200)
  assert.equal((await send(first.main, call(1))).status, 200)
  assert.doesNotMatch(await readinessText(), /degraded/)
})

test('with `login: demand`, a failed login keeps no request from the session of another process', async (t) => {
  const server = await startAuthorizationServer(t)
  const directory = folder(t)
  signInUser(t)
  server.tokenFaults.push((response) => sendJson(response, 400, { error: 'access_denied' }))
  const replica = () => proxyWithLogin(t, server.target, { login: 'demand' }, { directory })
  const first = await replica()
  const statusAt = async ({ main }: typeof first) => (await send(main, call(1))).status
  assert.equal(await statusAt(first), 503)
  assert.equal(await statusAt(await replica()), 200)
  assert.equal(await statusAt(first), 200)
})
