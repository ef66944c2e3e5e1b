import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gatewayWith, issuing } from 'sallyport/testing'
import { ExpiringMap } from 'sallyport/toolkit'
import { eventually } from '#kit/captured-log.js'
import { HOUR, twoClocks } from '#kit/two-clocks.js'

for (const [name, shift] of [
  ['back', -HOUR],
  ['forward', HOUR],
] as const) {
  test(`the clock goes ${name} an hour during a backoff: introspection is retried after the usual time`, async (t) => {
    const clock = twoClocks(t)
    const issuer = await issuing(t)
    const { introspectionUrl } = issuer
    const { requestWith } = await gatewayWith(t, [
      { use: 'auth/introspection', with: { ...issuer.provider, introspectionUrl } },
    ])
    issuer.faults.set('/introspect', ({ socket }) => socket.destroy())
    for (const token of ['a', 'b', 'c']) assert.equal((await requestWith(`Bearer ${token}`)).status, 401)
    clock.set(shift)
    issuer.faults.delete('/introspect')
    await eventually(async () => (await requestWith(`Bearer ${issuer.opaque()}`)).status === 200, 4)
  })

  test(`the clock goes ${name} an hour after a fetch for an unknown key: the next rotation is noticed in time`, async (t) => {
    const clock = twoClocks(t)
    const issuer = await issuing(t)
    const { jwksUrl } = { jwksUrl: `${issuer.origin}/jwks` }
    const { requestWith } = await gatewayWith(t, [{ use: 'auth/jwt', with: { ...issuer.provider, jwksUrl } }])
    assert.equal((await requestWith(`Bearer ${await issuer.jwt()}`)).status, 200)
    assert.equal((await requestWith(`Bearer ${await issuer.jwt({}, { kid: 'nobody' })}`)).status, 401)
    const fetched = issuer.times('/jwks')

    clock.set(shift)
    await issuer.rotate('second')
    assert.equal((await requestWith(`Bearer ${await issuer.jwt()}`)).status, 401)
    assert.equal(issuer.times('/jwks'), fetched)
    clock.passed(10_001)
    assert.equal((await requestWith(`Bearer ${await issuer.jwt()}`)).status, 200)
  })

  test(`the clock goes ${name} an hour: keys are fresh and stale for the usual time`, async (t) => {
    const clock = twoClocks(t)
    const issuer = await issuing(t)
    const jwksUrl = `${issuer.origin}/jwks`
    const { requestWith } = await gatewayWith(t, [
      { use: 'auth/jwt', with: { ...issuer.provider, jwksUrl, keysMaxStale: 0 } },
    ])
    assert.equal((await requestWith(`Bearer ${await issuer.jwt()}`)).status, 200)
    clock.set(shift)
    clock.passed(595_000)
    assert.equal((await requestWith(`Bearer ${await issuer.jwt()}`)).status, 200)
    clock.passed(600_001)
    issuer.faults.set('/jwks', (_request, response) => response.writeHead(500).end())
    assert.equal((await requestWith(`Bearer ${await issuer.jwt()}`)).status, 401)
  })
}

test('a token cached for a second expires after one second, even when the clock went back, and at its date', async (t) => {
  const clock = twoClocks(t)
  const map = new ExpiringMap<string>(2)
  map.set('key', 'value', Date.now() + 1000)
  clock.set(-HOUR)
  assert.equal(map.get('key'), 'value')
  clock.passed(1001)
  assert.equal(map.get('key'), undefined)

  map.set('key', 'value', Date.now() + 1000)
  clock.set(0)
  assert.equal(map.get('key'), undefined)
})
