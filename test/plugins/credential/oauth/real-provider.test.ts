import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { folder } from '#kit/folder.js'
import { freePort } from '#kit/free-port.js'
import { call, send } from '../../forward/proxied.js'
import { proxyWithLogin, signInUser } from './proxy-with-login.js'
import { browse, realLogin } from './real-provider.js'

// Longer on request, as before a release: SALLYPORT_SOAK=300 npm test -- real-provider
const SECONDS = Number(process.env['SALLYPORT_SOAK'] ?? 6)

test('against oidc-provider: one login, tokens of two seconds, rotation, two processes, and no request fails (CL-22, T15)', async (t) => {
  const { target, counts } = await realLogin(t, { life: 2 })
  const directory = folder(t)
  const { urls } = signInUser(t, browse)
  const options = { login: 'start', callbackPort: await freePort() }
  const [one, two] = await Promise.all([
    proxyWithLogin(t, target, options, { directory }),
    proxyWithLogin(t, target, options, { directory }),
  ])

  const failed: number[] = []
  let asked = 0
  for (const end = Date.now() + SECONDS * 1000; Date.now() < end; await setTimeout(20)) {
    const answers = await Promise.all([one, two].map(({ main }) => send(main, call(1))))
    asked += answers.length
    failed.push(...answers.map(({ status }) => status).filter((status) => status !== 200))
  }
  t.diagnostic(
    `${asked} requests, ${failed.length} failed, ${counts.refreshes - 1} refreshes, ${urls.length} login`,
  )
  assert.deepEqual([failed, urls.length, counts.logins, counts.refused], [[], 1, 1, 0])
  assert.ok(counts.refreshes > SECONDS / 2)
  // One process refreshes for both: more than one refresh a second would mean that both do.
  assert.ok(counts.refreshes < SECONDS * 1.7, String(counts.refreshes))
})

const givenClient = { registrars: [{ use: 'registrar/given', with: { clientId: 'without-offline' } }] }

test('a client that may not have offline_access signs in without it, unless the options request it', async (t) => {
  const { target } = await realLogin(t, { life: 60 })
  const tabs: ReturnType<typeof browse>[] = []
  const { urls } = signInUser(t, (url) => tabs.push(browse(url)))
  const { main } = await proxyWithLogin(t, target, {}, givenClient)

  assert.equal((await send(main, call(1))).status, 200)
  // The same tab is asked twice, and shows no failure.
  const [tab] = await Promise.all(tabs)
  const asked = tab?.addresses.filter((address) => address.includes('/auth?')) ?? []
  assert.deepEqual(
    asked.map((address) => new URL(address).searchParams.get('scope')),
    ['read offline_access', 'read'],
  )
  assert.match(tab?.text ?? '', /You are signed in/)

  const asking = await proxyWithLogin(t, target, { scopes: ['read', 'offline_access'] }, givenClient)
  const { status, body } = await send(asking.main, call(1))
  assert.deepEqual([status, urls.length], [503, 2])
  assert.match((await tabs.at(-1))?.text ?? '', /Signing in failed/)
  assert.match(body, /oauth_invalid_scope/)
})

test('the device flow of such a client prints the code at once', async (t) => {
  const { target } = await realLogin(t, { life: 60 })
  const { urls } = signInUser(t, () => {})
  const options = { grant: 'device_code', timeout: '2s', signInTimeout: '2s' }
  const { main } = await proxyWithLogin(t, target, options, givenClient)

  assert.match((await send(main, call(1))).body, /login_timeout/)
  assert.match(urls.join(), /\/device\?user_code=/)
})
