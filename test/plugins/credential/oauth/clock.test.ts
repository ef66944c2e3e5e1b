import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogScrubber } from 'sallyport/embed'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { HOUR, twoClocks } from '#kit/two-clocks.js'
import { CurrentToken } from '#plugins/credential/oauth/current-token.js'
import type { Session } from '#plugins/credential/oauth/session.js'
import { call, send } from '../../forward/proxied.js'
import { sendJson, startAuthorizationServer } from './authorization-server.js'
import { proxyWithLogin, signInUser } from './proxy-with-login.js'

const SHIFTS = [
  ['back', -HOUR],
  ['forward', HOUR],
] as const

/** A session whose token was obtained now and lasts this long. */
const session = (life: number, refreshToken?: string): Session => ({
  format: 1,
  target: 'https://target.example',
  server: { issuer: 'https://idp.example' },
  client: { issuer: 'https://idp.example', clientId: 'me' },
  scopes: [],
  tokens: { accessToken: 'access', expiresAt: Date.now() + life, ...(refreshToken && { refreshToken }) },
  obtainedAt: Date.now(),
})

for (const [name, shift] of SHIFTS) {
  test(`the clock goes ${name} an hour after a login failed: the next is tried after the usual pause`, async (t) => {
    const clock = twoClocks(t)
    const server = await startAuthorizationServer(t)
    signInUser(t)
    const { main } = await proxyWithLogin(t, server.target, { login: 'start' })
    await eventually(async () => (await send(main, call(1))).status === 200)
    server.revokeTokens()
    server.tokenFaults.push((response) => sendJson(response, 503, {}))
    assert.equal((await send(main, call(1))).status, 503)
    clock.set(shift)
    await eventually(async () => (await send(main, call(1))).status === 200, 6)
  })

  test(`the clock goes ${name} an hour: a token that cannot be refreshed is used until it expires`, (t) => {
    const clock = twoClocks(t)
    const token = new CurrentToken(new LogScrubber())
    token.set(session(100_000))
    clock.set(shift)
    assert.equal(token.fresh?.accessToken, 'access')
    clock.passed(94_000)
    assert.equal(token.fresh?.accessToken, 'access')
    clock.passed(96_000)
    assert.deepEqual([token.fresh, token.unexpired?.accessToken], [undefined, 'access'])
    clock.passed(100_001)
    assert.equal(token.unexpired, undefined)
  })
}

test('a token whose expiry date has passed is refreshed sooner, and still used when the refresh fails', (t) => {
  const clock = twoClocks(t)
  const token = new CurrentToken(new LogScrubber())
  token.set(session(100_000, 'refresh'))
  clock.set(HOUR)
  assert.deepEqual([token.fresh, token.unexpired?.accessToken], [undefined, 'access'])
  token.extend(3000)
  assert.equal(token.fresh?.accessToken, 'access')
  clock.passed(3001)
  assert.equal(token.fresh, undefined)
})

test('a failed refresh neither shortens nor extends the lifetime of a token', (t) => {
  const clock = twoClocks(t)
  const token = new CurrentToken(new LogScrubber())
  token.set(session(100_000, 'refresh'))
  token.extend(3_000)
  clock.passed(90_000)
  assert.equal(token.fresh?.accessToken, 'access')
  clock.passed(99_000)
  token.extend(3_000)
  clock.passed(100_001)
  assert.equal(token.fresh, undefined)
})

test('a token that was stored while the clock was ahead lasts no longer than its lifetime', (t) => {
  const clock = twoClocks(t)
  clock.set(HOUR)
  const stored = session(100_000)
  clock.set(0)
  const token = new CurrentToken(new LogScrubber())
  token.set(stored)
  clock.passed(100_001)
  assert.equal(token.unexpired, undefined)
})

test('refreshes of an expired token become less frequent, down to one a minute', (t) => {
  const clock = twoClocks(t)
  const token = new CurrentToken(new LogScrubber())
  token.set(session(100_000, 'refresh'))
  clock.passed(100_001)
  assert.deepEqual([token.refreshDelay(1), token.refreshDelay(20)], [1_000, 60_000])
})

test('the clock goes back an hour between two refreshes: the other process adopts the newer token', async (t) => {
  const clock = twoClocks(t)
  const directory = folder(t)
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t)
  const [one, two] = [
    await proxyWithLogin(t, server.target, { login: 'start' }, { directory }),
    await proxyWithLogin(t, server.target, { login: 'start' }, { directory }),
  ]
  for (const { main } of [one, two]) await eventually(async () => (await send(main, call(1))).status === 200)
  clock.set(-HOUR)
  for (const round of [1, 2]) {
    server.revokeTokens()
    for (const { main } of [one, two]) assert.equal((await send(main, call(1))).status, 200)
    // Using a refresh token twice would have ended the session.
    assert.deepEqual([server.grantsOf('refresh_token'), urls.length], [round, 1])
  }
})
