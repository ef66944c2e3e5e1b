import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as later } from 'node:timers/promises'
import { Credential, type OutgoingCredential } from 'sallyport'
import {
  booted,
  eventually,
  fakeClock,
  gatewayWith,
  issuing,
  listening,
  protectedRoute,
  serving,
} from 'sallyport/testing'
import { plugin } from '#kit/plugin.js'

test('timers run in order, each at its own moment, and the promises of one settle before the next', async (t) => {
  const clock = fakeClock(t, new Date('2030-01-01'))
  const seen: string[] = []
  const say = (what: string) => seen.push(`${what} at ${(clock.now - Date.parse('2030-01-01')) / 1000}`)
  setTimeout(say, 2_000, 'second')
  setTimeout(() => void later(500).then(() => say('what the first leads to')), 1_000)
  const often = setInterval(say, 900, 'often')
  const never = setTimeout(say, 1_000, 'never')
  clearTimeout(never)
  await clock.advance(1_999)
  clearInterval(often)
  await clock.advance(60_000)
  assert.deepEqual(seen, ['often at 0.9', 'what the first leads to at 1.5', 'often at 1.8', 'second at 2'])
  assert.equal(new Date().toISOString(), '2030-01-01T00:01:01.999Z')
})

test('an abort ends a wait, `refresh` restarts a timer, and the end of the test restores the real time', async (t) => {
  const before = globalThis.setTimeout
  await t.test('inside', async (inner) => {
    const clock = fakeClock(inner)
    const ending = new AbortController()
    const waiting = assert.rejects(later(1_000, undefined, { signal: ending.signal }), { name: 'AbortError' })
    ending.abort()
    await waiting
    const late = AbortSignal.timeout(1_000)
    let fired = 0
    const timer = setTimeout(() => fired++, 1_000)
    await clock.advance(999)
    assert.equal(late.aborted, false)
    timer.refresh()
    await clock.advance(999)
    assert.deepEqual([late.aborted, fired], [true, 0])
    await clock.advance(1)
    assert.equal(fired, 1)
  })
  assert.equal(globalThis.setTimeout, before)
  assert.ok(Math.abs(Date.now() - performance.timeOrigin - performance.now()) < 60_000)
  assert.equal(await later(1, 'real'), 'real')
})

test('a fake clock can clear a timer that was set before it', async (t) => {
  let fired = false
  const timer = setTimeout(() => (fired = true), 20)
  fakeClock(t)
  clearTimeout(timer)
  await listening(t, () => {})
  const end = performance.now() + 60
  while (performance.now() < end) await new Promise((resolve) => void setImmediate(resolve))
  assert.equal(fired, false)
})

test('the gateway accepts a token until the second it expires, cached or not', async (t) => {
  const clock = fakeClock(t)
  const issuer = await issuing(t)
  const { requestWith } = await gatewayWith(t, [{ use: 'auth/jwt', with: issuer.provider }])
  const token = await issuer.jwt()
  const status = async () => (await requestWith(`Bearer ${token}`)).status
  assert.equal(await status(), 200)
  await clock.advance(298_000)
  assert.equal(await status(), 200)
  await clock.advance(2_000)
  assert.equal(await status(), 401)
})

test('the gateway accepts a revoked token while it caches the introspection', async (t) => {
  const clock = fakeClock(t)
  const issuer = await issuing(t)
  const settings = { ...issuer.provider, introspectionUrl: issuer.introspectionUrl }
  const { requestWith } = await gatewayWith(t, [{ use: 'auth/introspection', with: settings }])
  const token = issuer.opaque()
  const status = async () => (await requestWith(`Bearer ${token}`)).status
  assert.equal(await status(), 200)
  issuer.setIntrospection(token, { active: false })
  await clock.advance(29_000)
  assert.equal(await status(), 200)
  await clock.advance(1_000)
  assert.equal(await status(), 401)
  assert.equal(issuer.times(issuer.paths.introspection), 2)
})

test('the gateway requests unreachable keys again, after longer and longer waits', async (t) => {
  const clock = fakeClock(t)
  const issuer = await issuing(t)
  issuer.faults.set(issuer.paths.keys, (_request, response) => response.writeHead(503).end())
  const { requestWith } = await gatewayWith(t, [{ use: 'auth/jwt', with: issuer.provider }])
  const asked = (times: number) =>
    eventually(() => (issuer.times(issuer.paths.keys) >= times ? true : undefined))
  await asked(1)
  // Each wait doubles the one before, minus up to a half.
  for (const [times, wait] of [2, 3, 4].entries()) {
    await clock.advance(1_000 * 2 ** times)
    await asked(wait)
  }
  issuer.faults.clear()
  await clock.advance(60_000)
  await asked(5)
  await eventually(async () =>
    (await requestWith(`Bearer ${await issuer.jwt()}`)).status === 200 ? true : undefined,
  )
})

test('the gateway reuses an exchanged token until shortly before it expires', async (t) => {
  const clock = fakeClock(t)
  const issuer = await issuing(t)
  issuer.grant = (form) => ({ sub: 'exchanged', for: form.get('subject_token') })
  const held: (OutgoingCredential | undefined)[] = []
  const asking = plugin('asking', (gateway) => {
    const credentials = gateway.use(Credential)
    gateway.http.get(
      '/held',
      async (request) => void held.push(await credentials()[0]?.present(request, undefined)),
    )
  })
  const exchange = { url: issuer.tokenUrl, allowPrivateIP: true }
  const app = await booted(t, [
    { use: 'discovery/issuer' },
    { use: 'auth/jwt', with: issuer.provider },
    { use: 'credential/token-exchange', with: exchange },
    asking,
  ])
  const authorization = `Bearer ${await issuer.jwt({ exp: Math.floor(clock.now / 1000) + 3_600 })}`
  const ask = async () =>
    assert.equal((await app.inject({ url: '/held', headers: { authorization } })).statusCode, 200)
  await ask()
  await clock.advance(240_000)
  await ask()
  assert.equal(issuer.times(issuer.paths.token), 1)
  await clock.advance(60_000)
  await ask()
  assert.equal(issuer.times(issuer.paths.token), 2)
  assert.notEqual(held.at(-1)?.value, held[0]?.value)
})

test('the registry reads a source again after its interval, and not before', async (t) => {
  const clock = fakeClock(t)
  let asked = 0
  const url = await listening(t, (_request, response) => {
    asked++
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end('{"servers":[],"metadata":{"count":0}}')
  })
  const source = { name: 'other', url, allowPrivateIP: true, every: '10m' }
  const registries = [{ name: 'default', sources: ['other'] }]
  await serving(t, [
    { use: 'auth/anonymous' },
    { use: 'source/http', with: source },
    { use: 'registry/catalogue', with: { registries } },
    { use: protectedRoute },
  ])
  await eventually(() => (asked === 1 ? true : undefined))
  await clock.advance(8 * 60_000)
  assert.equal(asked, 1)
  // Up to a tenth later, so that many gateways do not read at once.
  await clock.advance(4 * 60_000)
  await eventually(() => (asked === 2 ? true : undefined))
})
