import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { eventually } from '../../../kit/captured-log.js'
import { closedPort } from '../../../kit/egress.js'
import { folder } from '../../../kit/folder.js'
import { asking, call } from '../../forward/proxied.js'
import { authorizing, tell } from './authorization-server.js'
import { person, signingIn } from './signing-in.js'

const many = (main: string, count: number) =>
  Promise.all(Array.from({ length: count }, () => asking(main, call(1))))

const statuses = (answers: readonly { readonly status: number }[]) => [
  ...new Set(answers.map(({ status }) => status)),
]

test('tokens of two seconds are renewed ahead of their end, and no request fails (CL-22)', async (t) => {
  const server = await authorizing(t)
  server.life = 2
  const { urls } = person(t)
  const { main } = await signingIn(t, server.target, { login: 'start' })

  const failed: number[] = []
  for (const end = Date.now() + 4000; Date.now() < end; await setTimeout(20)) {
    const { status } = await asking(main, call(1))
    if (status !== 200) failed.push(status)
  }
  assert.deepEqual([failed, urls.length], [[], 1])
  const refreshes = server.grantsOf('refresh_token')
  assert.ok(refreshes >= 2 && refreshes <= 7, String(refreshes))
  assert.equal(server.at('/token').at(-1)?.form.get('resource'), server.target)
})

test('fifty requests whose token was revoked cause one refresh (T15, CL-22)', async (t) => {
  const server = await authorizing(t)
  const { urls } = person(t)
  const { main } = await signingIn(t, server.target, { login: 'start' })
  assert.deepEqual(statuses(await many(main, 2)), [200])

  server.revokeTokens()
  assert.deepEqual(statuses(await many(main, 50)), [200])
  assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [1, 1])
})

test('a refresh token that has ended leads to one new login (CL-12, CL-22)', async (t) => {
  const server = await authorizing(t)
  const { urls } = person(t)
  const callbackPort = await closedPort()
  const { main } = await signingIn(t, server.target, { login: 'start', callbackPort })
  assert.deepEqual(statuses(await many(main, 1)), [200])

  server.revokeTokens()
  server.revokeGrant()
  assert.deepEqual(statuses(await many(main, 20)), [200])
  assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [1, 2])
  assert.equal(server.times('/register'), 1)
})

test('a refresh that fails on the way leaves the old token in use, and is tried again (CL-22)', async (t) => {
  const server = await authorizing(t)
  server.life = 4
  const { urls } = person(t)
  const { main } = await signingIn(t, server.target, { login: 'start' })
  assert.deepEqual(statuses(await many(main, 1)), [200])
  server.tokenFaults.push(
    (response) => response.destroy(),
    (response) => tell(response, 503, {}),
  )

  const failed: number[] = []
  for (const end = Date.now() + 6000; Date.now() < end; await setTimeout(50)) {
    const { status } = await asking(main, call(1))
    if (status !== 200) failed.push(status)
  }
  assert.deepEqual([failed, urls.length, server.tokenFaults.length], [[], 1, 0])
})

test('a second start signs nobody in, and takes up the refresh where it was (CL-22)', async (t) => {
  const directory = folder(t)
  const server = await authorizing(t)
  const { urls } = person(t)
  const first = await signingIn(t, server.target, { login: 'start' }, { directory })
  assert.deepEqual(statuses(await many(first.main, 1)), [200])
  await first.running.stop(0)

  server.revokeTokens()
  const asked = server.seen.length
  const second = await signingIn(t, server.target, { login: 'start' }, { directory })
  assert.deepEqual(statuses(await many(second.main, 5)), [200])
  assert.equal(urls.length, 1)
  const paths = new Set(server.seen.slice(asked).map(({ path }) => path))
  assert.deepEqual([...paths].toSorted(), ['/mcp', '/token'])
})

test('a kept login that nobody can read is a new login, and is said', async (t) => {
  const directory = folder(t)
  const server = await authorizing(t)
  const { urls } = person(t)
  const first = await signingIn(t, server.target, { login: 'start' }, { directory })
  assert.deepEqual(statuses(await many(first.main, 1)), [200])
  await first.running.stop(0)

  const files = readdirSync(directory).filter((name) => name.endsWith('.json'))
  const isSession = (name: string): boolean => readFileSync(join(directory, name), 'utf8').includes('session')
  for (const name of files.filter(isSession)) {
    const kept = JSON.parse(readFileSync(join(directory, name), 'utf8'))
    writeFileSync(join(directory, name), JSON.stringify({ ...kept, value: '{"format":0}' }))
  }
  const second = await signingIn(t, server.target, { login: 'start' }, { directory })
  assert.deepEqual(statuses(await many(second.main, 1)), [200])
  assert.equal(urls.length, 2)
  assert.match(JSON.stringify(second.lines), /another form/)
})

test('twenty gateways over one store share a login and each refresh (T15)', async (t) => {
  const directory = folder(t)
  const server = await authorizing(t)
  const { urls } = person(t)
  const gateways = await Promise.all(
    Array.from({ length: 20 }, () => signingIn(t, server.target, { login: 'start' }, { directory })),
  )
  const round = async () => statuses((await Promise.all(gateways.map(({ main }) => many(main, 3)))).flat())
  assert.deepEqual(await round(), [200])
  assert.equal(urls.length, 1)

  // The server ends the whole login when a refresh token comes twice.
  for (const rounds of [1, 2, 3]) {
    server.revokeTokens()
    assert.deepEqual(await round(), [200])
    assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [rounds, 1])
  }
})

test('a target that wants more scopes gets them beside those from before, three attempts at most (CL-11)', async (t) => {
  const server = await authorizing(t)
  const place = `${server.origin}/.well-known/oauth-protected-resource/mcp`
  server.challenge = `Bearer resource_metadata="${place}", scope="read"`
  const { urls } = person(t)
  const { main } = await signingIn(t, server.target, { login: 'start' })
  assert.deepEqual(statuses(await many(main, 1)), [200])

  server.neededScope = 'write'
  assert.deepEqual(statuses(await many(main, 5)), [200])
  const asked = () => server.at('/authorize').map(({ query }) => query.get('scope'))
  assert.deepEqual(asked(), ['read', 'read write'])

  server.neededScope = 'ad min'
  const { status } = await asking(main, call(1))
  assert.equal(status, 403)
  assert.equal(urls.length, 4)
})

test('another issuer gets neither the refresh token nor the client of the one before (CL-13)', async (t) => {
  const server = await authorizing(t)
  const next = await authorizing(t)
  const { urls } = person(t)
  const { main } = await signingIn(t, server.target, { login: 'start' })
  assert.deepEqual(statuses(await many(main, 1)), [200])
  const refreshToken = server.at('/token').length

  server.revokeTokens()
  server.revokeGrant()
  server.resource = { authorization_servers: [next.origin] }
  const { status } = await asking(main, call(1))
  // Tokens of the next issuer mean nothing to this target, so the request fails, after one login there.
  assert.equal(status, 502)
  assert.equal(next.times('/register'), 1)
  assert.equal(next.grantsOf('refresh_token'), 0)
  assert.ok(urls.length >= 2 && refreshToken === 1)
})

test('a client alone gets its tokens without anybody, and new ones when they end', async (t) => {
  const server = await authorizing(t)
  const { urls } = person(t)
  const registrars = [{ use: 'registrar/given', with: { clientId: 'mine', clientSecret: 'my secret' } }]
  const options = { grant: 'client_credentials', login: 'start', scopes: ['a'] }
  const { main } = await signingIn(t, server.target, options, { registrars })
  assert.deepEqual(statuses(await many(main, 3)), [200])

  server.revokeTokens()
  assert.deepEqual(statuses(await many(main, 20)), [200])
  const [{ form, headers } = { form: new URLSearchParams(), headers: {} }] = server.at('/token')
  assert.deepEqual([form.get('scope'), form.get('resource')], ['a', server.target])
  assert.match(headers.authorization ?? '', /^Basic /)
  assert.deepEqual([server.grantsOf('client_credentials'), urls.length], [2, 0])
})

test('a target that refuses every token gets a 502, and no endless row of logins', async (t) => {
  const server = await authorizing(t)
  const { urls } = person(t)
  const { main } = await signingIn(t, server.target)
  const { listener } = server
  Object.assign(server, {
    listener: (...[request, response]: Parameters<typeof listener>) => {
      server.revokeTokens()
      return listener(request, response)
    },
  })
  assert.equal((await asking(main, call(1))).status, 502)
  assert.equal(urls.length, 1)
  await eventually(async () => ((await asking(main, call(1))).status === 503 ? true : undefined))
  assert.ok(urls.length <= 12, String(urls.length))
})
