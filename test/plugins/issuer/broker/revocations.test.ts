import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import type { Identity, StateStore } from 'sallyport'
import { recordedLog } from '#kit/booted.js'
import { fakeClock } from '#kit/fake-clock.js'
import { BrokerKeys } from '#plugins/issuer/broker/keys.js'
import { Revocations } from '#plugins/issuer/broker/revocations.js'
import { SealedState } from '#plugins/issuer/broker/values.js'

const ISSUER = 'https://gateway.example'
const IDP = 'https://idp.example'
const LIFETIME = 3_600

/** Values that expire, and how often all keys were listed. */
function store() {
  const values = new Map<string, { readonly value: string; readonly expiresAt: number }>()
  const counts = { keys: 0, getsBeforeFailure: Number.POSITIVE_INFINITY }
  const read = (key: string): string | undefined => {
    const held = values.get(key)
    return held !== undefined && held.expiresAt > Date.now() ? held.value : undefined
  }
  const own: StateStore = {
    async get(key) {
      if (counts.getsBeforeFailure-- <= 0) throw new Error('the store is away')
      return read(key)
    },
    set: async (key, value, { expiresAt = Number.POSITIVE_INFINITY } = {}) =>
      void values.set(key, { value, expiresAt }),
    take: async (key) => read(key),
    delete: async (key) => void values.delete(key),
    async keys(prefix) {
      counts.keys++
      return [...values.keys()].filter((key) => key.startsWith(prefix) && read(key) !== undefined)
    },
    locked: (_key, work) => work(),
  }
  return { own, counts }
}

const secret = randomBytes(32)

function following(t: TestContext, own: StateStore, issuer = ISSUER): Revocations {
  const state = new SealedState(() => own, new BrokerKeys([secret]), issuer)
  const { log } = recordedLog()
  const revocations = new Revocations({ state, issuer, staleFor: 600_000, lifetime: LIFETIME, log })
  t.after(() => revocations.stop())
  return revocations
}

const person = (claims: Identity['claims'], issuer = ISSUER): Identity => ({
  provider: 'broker',
  subject: 'alice',
  issuer,
  claims,
})

test('a revocation of a person of the broker ends when no token is left, and that of another provider does not', async (t) => {
  const clock = fakeClock(t)
  const { own } = store()
  const revocations = following(t, own)
  await revocations.follow()
  await revocations.add({ idp: IDP, subject: 'alice' }, true)
  await revocations.add({ idp: 'https://other.example', subject: 'alice' }, false)
  const standings = () => [
    revocations.standing(person({ idp: IDP })),
    revocations.standing(person({}, 'https://other.example')),
  ]
  await clock.advance((LIFETIME - 10) * 1000)
  assert.deepEqual(standings(), ['revoked', 'revoked'])
  await clock.advance(20_000)
  assert.deepEqual(standings(), ['good', 'revoked'])
  const later = following(t, own)
  await later.follow()
  assert.deepEqual(
    [later.standing(person({ idp: IDP })), later.standing(person({}, 'https://other.example'))],
    ['good', 'revoked'],
    'after a restart',
  )
})

test('a process lists the revocations again only after there was a new one', async (t) => {
  const clock = fakeClock(t)
  const { own, counts } = store()
  const [here, there] = [following(t, own), following(t, own)]
  await here.follow()
  await there.follow()
  await clock.advance(60_000)
  assert.equal(counts.keys, 2)
  await here.add({ session: 'a' }, true)
  await clock.advance(4_000)
  assert.equal(counts.keys, 4)
  assert.equal(there.standing(person({ sid: 'a' })), 'revoked')
})

test('two brokers that share a store and a key do not revoke for each other', async (t) => {
  const clock = fakeClock(t)
  const { own } = store()
  const other = 'https://other.example'
  const [here, there] = [following(t, own), following(t, own, other)]
  await here.follow()
  await there.follow()
  await here.add({ idp: IDP, subject: 'alice' }, true)
  await clock.advance(10_000)
  assert.equal(there.standing(person({ idp: IDP }, other)), 'good')
})

test('the second of a revocation decides by milliseconds at the broker, and refuses a token with whole seconds', async (t) => {
  const clock = fakeClock(t, Date.UTC(2026, 0, 1) + 500)
  const { own } = store()
  const revocations = following(t, own)
  await revocations.follow()
  await revocations.add({ idp: IDP, subject: 'alice' }, true)
  const second = Math.floor(clock.now / 1000)
  const rows = [
    ['signed in before', person({ idp: IDP, auth_time: second + 0.4 }), 'revoked'],
    ['in the same millisecond', person({ idp: IDP, auth_time: second + 0.5 }), 'revoked'],
    ['signed in after', person({ idp: IDP, auth_time: second + 0.501 }), 'good'],
    ['a refresh after it', person({ idp: IDP, auth_time: second - 60, iat: second + 60 }), 'revoked'],
    ['issued by the provider in this second', person({ iat: second }, IDP), 'revoked'],
    ['issued by the provider after it', person({ iat: second + 1 }, IDP), 'good'],
  ] as const
  for (const [which, identity, standing] of rows)
    assert.equal(revocations.standing(identity), standing, which)
})

test('what was read of a list counts when the store goes away before its end, and the rest once it is back', async (t) => {
  const clock = fakeClock(t)
  const { own, counts } = store()
  const [here, there] = [following(t, own), following(t, own)]
  await here.follow()
  await there.follow()
  for (const sid of ['a', 'b']) await here.add({ session: sid }, true)
  here.stop()
  const isRevoked = (sid: string) => there.standing(person({ sid })) === 'revoked'
  counts.getsBeforeFailure = 2
  await clock.advance(4_000)
  assert.deepEqual([isRevoked('a'), isRevoked('b')], [true, false])
  counts.getsBeforeFailure = Number.POSITIVE_INFINITY
  await clock.advance(4_000)
  assert.deepEqual([isRevoked('a'), isRevoked('b')], [true, true])
})
