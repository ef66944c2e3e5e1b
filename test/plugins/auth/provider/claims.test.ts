import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstFault, identityFrom, isBound } from '#plugins/auth/provider/claims.js'

test('a token without a subject, or with an empty one, has its client as the subject', () => {
  const subjects = [
    { sub: 'ann', client_id: 'agent', azp: 'other' },
    { sub: '', client_id: 'agent' },
    { sub: 7, client_id: 'agent', azp: 'other' },
    { client_id: '', azp: 'other' },
    {},
  ].map((claims) => identityFrom(claims, 'corp', 'a.b.c').subject)
  assert.deepEqual(subjects, ['ann', 'agent', 'agent', 'other', ''])
})

test('scopes are a text or a list of texts, and other values are left out', () => {
  const scopes = [
    { scope: 'read  write' },
    { scope: ['read', 7, 'write'] },
    { scp: ['read', 'write'] },
    { scope: 7, scp: 'read' },
  ].map((claims) => identityFrom(claims, 'corp', 'a.b.c').scopes)
  assert.deepEqual(scopes, [['read', 'write'], ['read', 'write'], ['read', 'write'], []])
})

const policy = { issuer: 'https://idp.example', audience: 'here', tolerance: 0, optional: [] }

/** The claims of a token, as its JSON is read. */
const claimsOf = (more: string) =>
  JSON.parse(`{"iss":"https://idp.example","aud":"here","exp":9999999999,${more}}`)

test('RS-11: a time that is no number, or an infinite one, is refused', () => {
  for (const about of ['exp', 'nbf', 'iat'])
    for (const time of ['1e999', '-1e999', '"9999999999"', 'null', '[1]'])
      assert.equal(firstFault(claimsOf(`"${about}":${time}`), policy), about, time)
})

test('a confirmation that is null binds a token to nothing', () => {
  const claims = claimsOf('"cnf":null')
  assert.equal(firstFault(claims, policy), undefined)
  assert.equal(isBound(identityFrom(claims, 'corp', 'a.b.c')), false)
})
