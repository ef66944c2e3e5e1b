import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Guard } from 'sallyport'
import { Bench, booted, contractSuite, contracts, Doubt, Inconclusive } from 'sallyport/testing'
import { providing } from '#kit/plugin.js'

test('the names of before work as they did', async (t) => {
  const failing = providing('failing', Guard, () => Promise.reject(new Error('no')))
  const begun: string[] = []
  const bench = new Bench([Guard], {
    facts: {},
    patience: 1_000,
    begins: (contract, { asks }) => begun.push(`${contract} ${asks}`),
  })
  const app = await booted(t, [{ use: bench.plugin }, failing])
  const found = []
  for await (const judgement of bench.judge(app)) found.push(judgement)
  assert.deepEqual(
    found.map(({ contract, clause, state }) => [contract, clause.code, state]),
    [
      ['guard', 'GUARD_THROWS', 'broken'],
      ['guard', 'REQUEST_CHANGED', 'kept'],
    ],
  )
  assert.deepEqual(
    begun,
    found.map(({ contract, clause }) => `${contract} ${clause.asks}`),
  )
  assert.ok(contracts.every(({ clauses }) => clauses.every(({ asks }) => asks !== '')))
  assert.equal(Doubt, Inconclusive)
})

contractSuite('a token under the name of before', () => ({
  list: [{ use: 'auth/anonymous' }],
  facts: { token: 'any' },
}))
