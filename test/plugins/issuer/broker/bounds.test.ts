import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OpenSignIns } from '#plugins/issuer/broker/bounds.js'

// Addresses of one network, and one beside it.
const networks: readonly (readonly [what: string, of: (index: number) => string, beside: string])[] = [
  ['IPv4', (index) => `203.0.113.${index}`, '203.0.114.1'],
  ['IPv6', (index) => `2001:db8:1:7${index.toString(16).padStart(2, '0')}::1`, '2001:db8:1:800::1'],
  ['IPv4 in IPv6', (index) => `::ffff:203.0.113.${index}`, '::ffff:203.0.114.1'],
]

for (const [what, of, beside] of networks) {
  test(`the sign-ins that were begun are counted by networks that a stranger cannot have many of: ${what}`, () => {
    const forgotten: string[] = []
    const open = new OpenSignIns(60_000, (uid) => void forgotten.push(uid))
    for (let index = 0; index < 100; index++) open.add(`uid ${index}`, { clientAddress: of(index) })
    open.add('beside', { clientAddress: beside })
    assert.deepEqual(forgotten, [])
    open.add('one more', { clientAddress: of(200) })
    assert.deepEqual(forgotten, ['uid 0'])
  })
}
