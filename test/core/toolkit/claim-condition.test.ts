import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Identity } from 'sallyport'
import { type ClaimCondition, claimCondition, matchesClaims, unmatchedClaims } from 'sallyport/toolkit'

const schema = claimCondition()

const identityWith = (claims: Identity['claims']): Identity => ({ provider: 'corp', subject: 'ann', claims })

const matches = (condition: ClaimCondition, claims: Identity['claims']): boolean =>
  matchesClaims(schema.parse(condition), identityWith(claims))

test('every named claim has to match, and one value of a list is enough', () => {
  const claims = { groups: ['staff', 'writers'], department: 'it', level: 3, admin: true }

  assert.ok(matches({ groups: 'writers' }, claims))
  assert.ok(matches({ groups: ['readers', 'writers'], department: 'it' }, claims))
  assert.ok(matches({ level: 3, admin: true }, claims))
  assert.ok(!matches({ groups: 'writers', department: 'hr' }, claims))
  assert.ok(!matches({ groups: 'writer' }, claims))
  assert.ok(!matches({ missing: 'x' }, claims))
  assert.deepEqual(unmatchedClaims({ groups: 'x', level: 3, other: 1 }, identityWith(claims)), [
    'groups',
    'other',
  ])
})

test('text, number and boolean match only their own kind', () => {
  assert.ok(!matches({ level: '3' }, { level: 3 }))
  assert.ok(!matches({ level: 3 }, { level: '3' }))
  assert.ok(!matches({ admin: 'true' }, { admin: true }))
  assert.ok(!matches({ admin: true }, { admin: 1 }))
  assert.ok(!matches({ groups: '1' }, { groups: [1] }))
  assert.ok(!matches({ groups: 'a' }, { groups: [['a']] }))
  assert.ok(!matches({ groups: 'a' }, { groups: { a: true } }))
})

test('a name with dots means the claim of that name or, without one, a path', () => {
  const condition = { 'realm_access.roles': 'admin' }

  assert.ok(matches(condition, { realm_access: { roles: ['admin'] } }))
  assert.ok(matches(condition, { 'realm_access.roles': 'admin' }))
  assert.ok(!matches(condition, { 'realm_access.roles': 'user', realm_access: { roles: 'admin' } }))
  assert.ok(matches({ 'https://example.com/role': 'a' }, { 'https://example.com/role': 'a' }))
  assert.ok(!matches({ 'groups.0': 'a' }, { groups: ['a'] }))
})

test('a claim of scopes is split at spaces, and no other', () => {
  assert.ok(matches({ scope: 'write' }, { scope: 'read write' }))
  assert.ok(!matches({ scope: 'writ' }, { scope: 'read write' }))
  assert.ok(matches({ scope: ['write'] }, { scope: ['read', 'write'] }))
  assert.ok(!matches({ groups: 'b' }, { groups: 'a b' }))
})

test('a condition on scopes matches whichever claim holds them', () => {
  const caller = { ...identityWith({ scp: 'read write' }), scopes: ['read', 'write'] }

  for (const name of ['scope', 'scp']) {
    assert.ok(matchesClaims(schema.parse({ [name]: 'write' }), caller))
    assert.ok(!matchesClaims(schema.parse({ [name]: 'writ' }), caller))
    assert.ok(!schema.safeParse({ [name]: 'read write' }).success)
  }
  assert.ok(matches({ scp: 'write' }, { scp: ['read', 'write'] }))
})

test('a member that every object inherits is no claim', () => {
  assert.ok(!matches({ 'constructor.name': 'Object' }, {}))
  assert.ok(!matches({ 'groups.length': 1 }, { groups: ['a'] }))
  assert.ok(!matches({ 'name.length': 1 }, { name: 'a' }))
  assert.ok(matches({ constructor: 'x' }, { constructor: 'x' }))
  assert.ok(!matchesClaims(JSON.parse('{ "__proto__": "x" }'), identityWith({})))
})

test('a caller without an identity matches no condition', () => {
  assert.ok(!matchesClaims({ groups: 'a' }, undefined))
})

test('a condition without a claim, or that can never match, is refused', () => {
  const refused = [
    {},
    [],
    null,
    'groups',
    undefined,
    { groups: [] },
    { groups: null },
    { groups: undefined },
    { groups: { a: 1 } },
    { groups: Number.NaN },
    { '': 'a' },
    { scope: 'read write' },
    { scope: ['read', ''] },
    JSON.parse('{ "__proto__": "x", "groups": "a" }'),
  ]
  for (const condition of refused) assert.ok(!schema.safeParse(condition).success, JSON.stringify(condition))
})

test('a condition matches exactly the claims that hold one of its values', () => {
  const value = fc.oneof(fc.constantFrom('a', 'b', '1', 'true'), fc.constantFrom(1, 0, true, false))
  const name = fc.constantFrom('x', 'y', '__proto__', 'constructor', 'toString')
  fc.assert(
    fc.property(
      fc.array(fc.tuple(name, fc.array(value, { minLength: 1 })), { minLength: 1 }),
      fc.array(fc.tuple(name, fc.oneof(value, fc.array(value), fc.constant(null)))),
      (condition, claims) => {
        const wanted = new Map(condition)
        const held = new Map(claims)
        const expected = [...wanted].every(([key, values]) => {
          const claim = held.get(key)
          return values.some((one) => (Array.isArray(claim) ? claim.includes(one) : claim === one))
        })
        const identity = identityWith(Object.fromEntries(held))
        assert.equal(matchesClaims(Object.fromEntries(wanted), identity), expected)
      },
    ),
  )
})
