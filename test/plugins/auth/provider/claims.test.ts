import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identityFrom } from '#plugins/auth/provider/claims.js'

test('a token without a subject, or with an empty one, is that of its client', () => {
  const subjects = [
    { sub: 'ann', client_id: 'agent', azp: 'other' },
    { sub: '', client_id: 'agent' },
    { sub: 7, client_id: 'agent', azp: 'other' },
    { client_id: '', azp: 'other' },
    {},
  ].map((claims) => identityFrom(claims, 'corp', 'a.b.c').subject)
  assert.deepEqual(subjects, ['ann', 'agent', 'agent', 'other', ''])
})
