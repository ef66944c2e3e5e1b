import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { booted, gatewayWith, type Issuer, issuing, listening, protectedRoute } from 'sallyport/testing'
import { eventually } from '#kit/captured-log.js'
import { deferred } from '#kit/deferred.js'
import { closedPort } from '#kit/listening.js'
import { twoClocks } from '#kit/two-clocks.js'
import { gate, jwtEntry } from './jwt-gate.js'

const MINUTE = 60_000

function madeUp(issuer: Issuer, kid: string): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'ES256', kid })}.${part(issuer.claims())}.${randomBytes(64).toString('base64url')}`
}

test('RS-21: ten thousand made-up key IDs cause one fetch', async (t) => {
  const issuer = await issuing(t)
  const app = await booted(t, [{ use: 'discovery/issuer' }, jwtEntry(issuer), { use: protectedRoute }])
  const status = async (token: string) =>
    (await app.inject({ url: '/closed', headers: { authorization: `Bearer ${token}` } })).statusCode
  assert.equal(await status(await issuer.jwt()), 200)
  assert.equal(issuer.times('/jwks'), 1)

  const began = Date.now()
  for (let count = 0; count < 10_000; count += 50) {
    const batch = Array.from({ length: 50 }, (_, index) => status(madeUp(issuer, `kid-${count + index}`)))
    assert.deepEqual(new Set(await Promise.all(batch)), new Set([401]))
  }
  const coolDowns = Math.ceil((Date.now() - began) / 10_000)
  assert.ok(issuer.times('/jwks') - 1 <= coolDowns, `${issuer.times('/jwks')} fetches`)
})

test('RS-21: a rotation needs no restart and fails no request, also right after the start', async (t) => {
  const issuer = await issuing(t)
  const { status } = await gate(t, issuer)
  const before = await issuer.jwt()
  assert.equal(await status(before), 200)

  await issuer.rotate('second')
  const [old, ...fresh] = await Promise.all([
    status(await issuer.jwt({ sub: 'old' }, { kid: 'second' })),
    ...Array.from({ length: 20 }, async (_, index) => status(await issuer.jwt({ sub: `new ${index}` }))),
  ])
  assert.deepEqual(new Set([old, ...fresh]), new Set([200]))
  assert.equal(await status(before), 200)
  assert.equal(issuer.times('/jwks'), 2)
})

test('a change of keys clears the cache: a token of a removed key is refused', async (t) => {
  const issuer = await issuing(t)
  const { status } = await gate(t, issuer)
  const old = await issuer.jwt()
  assert.equal(await status(old), 200)

  await issuer.rotate('second', { alone: true })
  assert.equal(await status(await issuer.jwt()), 200)
  assert.equal(await status(old), 401)
})

test('RS-21: keys that cannot be fetched again are used for `keysMaxStale`, and no longer', async (t) => {
  const issuer = await issuing(t)
  const day = await gate(t, issuer)
  const hour = await gate(t, issuer, { keysMaxStale: '1h' })
  assert.deepEqual([await day.status(await issuer.jwt()), await hour.status(await issuer.jwt())], [200, 200])
  issuer.faults.set('/jwks', (_request, response) => response.writeHead(500).end())
  const { passed } = twoClocks(t)
  const statuses = async () => {
    const token = await issuer.jwt({ jti: String(Math.random()) })
    return [await day.status(token), await hour.status(token)]
  }

  passed(69 * MINUTE)
  assert.deepEqual(await statuses(), [200, 200])
  passed(71 * MINUTE)
  assert.deepEqual(await statuses(), [200, 401])
  passed(24 * 60 * MINUTE + 11 * MINUTE)
  assert.deepEqual(await statuses(), [401, 401])
})

for (const [cacheControl, freshFor] of [
  ['max-age=5', MINUTE],
  ['no-store', MINUTE],
  ['public, max-age=1200', 20 * MINUTE],
  ['max-age=99999999', 60 * MINUTE],
  ['s-maxage=1, nonsense', 10 * MINUTE],
] as const) {
  test(`keys are fresh for ${freshFor / MINUTE} minutes with Cache-Control: ${cacheControl}`, async (t) => {
    const issuer = await issuing(t)
    issuer.keyHeaders = { 'cache-control': cacheControl }
    const { status } = await gate(t, issuer, { keysMaxStale: 0 })
    assert.equal(await status(await issuer.jwt()), 200)
    const { passed } = twoClocks(t)

    passed(freshFor - 5000)
    assert.equal(await status(await issuer.jwt()), 200)
    passed(freshFor + 1)
    assert.equal(await status(await issuer.jwt()), 401)
  })
}

test('`jwksUrl` is fetched directly, without discovery', async (t) => {
  const issuer = await issuing(t)
  const { status } = await gate(t, issuer, { jwksUrl: `${issuer.origin}/jwks` })
  assert.equal(await status(await issuer.jwt()), 200)
  assert.deepEqual(
    issuer.asked.map(({ path }) => path),
    ['/jwks'],
  )
})

test('a request during the first fetch waits for it', async (t) => {
  const issuer = await issuing(t)
  const { promise: held, resolve: release } = deferred()
  issuer.faults.set('/jwks', (_request, response) => {
    void held.then(() => response.end(JSON.stringify({ keys: issuer.keys })))
  })
  const { status } = await gate(t, issuer)
  const waiting = status(await issuer.jwt())
  await eventually(() => (issuer.times('/jwks') === 1 ? true : undefined))
  assert.equal(await Promise.race([waiting, setTimeout(50, 'still waiting')]), 'still waiting')
  release()
  assert.equal(await waiting, 200)
})

test('a provider that is down at the start is degraded, and works once it is up', async (t) => {
  const issuer = await issuing(t)
  issuer.faults.set('/jwks', (_request, response) => response.writeHead(503).end())
  const internal = { use: 'internal/server', with: { address: '127.0.0.1:0' } }
  const { running, requestWith } = await gatewayWith(t, [jwtEntry(issuer), internal])
  const readiness = async () => {
    const answer = await fetch(`${running.addresses.internal}/readiness`)
    return { status: answer.status, body: await answer.text() }
  }
  assert.equal((await requestWith(`Bearer ${await issuer.jwt()}`)).status, 401)
  const { status, body } = await readiness()
  assert.equal(status, 200)
  assert.equal(JSON.parse(body).checks['auth/jwt:corp'].status, 'degraded')

  issuer.faults.clear()
  await eventually(async () =>
    (await requestWith(`Bearer ${await issuer.jwt()}`)).status === 200 ? true : undefined,
  )
  assert.equal(JSON.parse((await readiness()).body).checks, undefined)
})

for (const [cause, issuerAt] of [
  ['refused', closedPort],
  ['silent', (t: TestContext) => listening(t, () => {})],
] as const) {
  test(`the gateway does not call a token of a provider that is ${cause} invalid, and readiness names the provider`, async (t) => {
    const issuer = await issuing(t)
    const issuerUrl = await issuerAt(t)
    const { running, requestWith } = await gatewayWith(t, [
      jwtEntry(issuer, { name: 'away', issuerUrl, jwksUrl: undefined }),
      { use: 'discovery/resource', with: { resource: 'https://here.example' } },
      { use: 'internal/server', with: { address: '127.0.0.1:0' } },
    ])
    const { status, headers } = await requestWith(`Bearer ${await issuer.jwt({ iss: issuerUrl })}`)
    assert.equal(status, 401)
    const challenge = headers.get('www-authenticate') ?? ''
    assert.match(challenge, /^Bearer realm="mcp", resource_metadata="[^"]+"$/)

    const readiness = await fetch(`${running.addresses.internal}/readiness`)
    const { checks } = (await readiness.json()) as {
      checks: Record<string, { status: string; reason: string }>
    }
    const [health] = Object.values(checks)
    assert.equal(readiness.status, 200)
    assert.equal(health?.status, 'degraded')
    assert.match(health?.reason ?? '', /^away: /)
  })
}

test('RS-22: a provider that is silent or down does not slow the tokens of another', async (t) => {
  const issuer = await issuing(t)
  const other = await issuing(t)
  const silent = await listening(t, () => {})
  const at = (name: string, issuerUrl: string) => jwtEntry(issuer, { name, issuerUrl })
  const both = await gatewayWith(t, [at('other', other.url), at('corp', issuer.url)])
  const oneSilent = await gatewayWith(t, [at('other', silent), at('corp', issuer.url)])
  const oneGone = await gatewayWith(t, [at('other', await closedPort()), at('corp', issuer.url)])
  const gates = [both, oneSilent, oneGone]
  const times: number[][] = [[], [], []]
  for (let round = 0; round < 400; round++) {
    for (const [index, { requestWith }] of gates.entries()) {
      const token = await issuer.jwt({ jti: `${round} ${index}` })
      const began = performance.now()
      const { status } = await requestWith(`Bearer ${token}`)
      times[index]?.push(performance.now() - began)
      assert.equal(status, 200)
    }
  }
  const [up = 0, withSilent = 0, withGone = 0] = times.map(median)
  t.diagnostic(
    `medians: ${up.toFixed(3)} ms, one silent ${withSilent.toFixed(3)} ms, one gone ${withGone.toFixed(3)} ms`,
  )
  assert.ok(withSilent < up * 1.2 && withGone < up * 1.2)
})

test('RS-22: a token of one provider with the audience of another is refused, and the first that accepts decides', async (t) => {
  const [a, b] = [await issuing(t), await issuing(t)]
  const { requestWith, lines } = await gatewayWith(t, [
    jwtEntry(a, { name: 'a', audience: 'for a' }),
    jwtEntry(b, { name: 'b', audience: 'for b' }),
    jwtEntry(b, { name: 'late', audience: 'for b' }),
  ])
  const status = async (token: string) => (await requestWith(`Bearer ${token}`)).status
  assert.equal(await status(await a.jwt({ aud: 'for a' })), 200)
  assert.equal(await status(await b.jwt({ aud: 'for b' })), 200)
  assert.equal(await status(await a.jwt({ aud: 'for b' })), 401)
  assert.equal(await status(await b.jwt({ aud: 'for a' })), 401)
  assert.deepEqual(
    lines.filter(({ msg }) => msg === 'refused').map(({ provider, cause }) => [provider, cause]),
    [
      ['a', 'claim:aud'],
      ['b', 'claim:aud'],
    ],
  )
})

const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? 0
