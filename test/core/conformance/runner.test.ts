import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePlugin, Guard, Health, many, Refusal, StateStore } from 'sallyport'
import { booted, ConformanceRunner } from 'sallyport/testing'
import { resultsFor } from '#kit/conformance.js'
import { providing } from '#kit/plugin.js'

const stateOf = ({ state }: { readonly state: string }): string => state

test('each requirement has a result, and each failure has advice', async (t) => {
  const results = await resultsFor(t, Guard, () => {
    throw new TypeError('not yet')
  })
  assert.deepEqual(results.map(stateOf), ['failed', 'passed'])
  const [first] = results
  assert.equal(first?.capability, 'guard')
  assert.equal(first?.detail, 'on GET /conformance it throws: not yet')
  assert.match(first?.requirement.advice ?? '', /Refusal/)
})

test('a request that a guard of the list refuses still reaches the plugin under test', async (t) => {
  const seen = new Set<string>()
  const refusing = definePlugin({
    name: 'refusing',
    api: 1,
    provides: [Guard],
    setup(gateway) {
      gateway.provide(Guard, () => {
        throw new Refusal(403, 'NO', 'nobody')
      })
      gateway.provide(Guard, ({ method }) => void seen.add(method))
    },
  })
  const runner = new ConformanceRunner([Guard])
  const app = await booted(t, [{ use: runner.plugin }, { use: refusing }])
  for await (const { state } of runner.run(app)) assert.equal(state, 'passed')
  assert.deepEqual([...seen], ['GET', 'POST'])
})

test('a promise that does not settle fails as HANGS, and the next requirement runs', async (t) => {
  const started: string[] = []
  const hanging = providing('hanging', StateStore, {
    get: () => new Promise(() => {}),
    set: async () => {},
    take: () => new Promise(() => {}),
    delete: async () => {},
    keys: async () => [],
    locked: async (_key, work) => work(),
  })
  const runner = new ConformanceRunner([StateStore], {
    timeout: 10,
    onCheck: (capability, { code }) => started.push(`${capability} ${code}`),
  })
  const app = await booted(t, [{ use: runner.plugin }, hanging])
  const codes: string[] = []
  for await (const { requirement } of runner.run(app)) codes.push(requirement.code)
  assert.deepEqual(codes, ['HANGS', 'STATE_KEYS', 'HANGS', 'HANGS', 'LOCK_BROKEN'])
  assert.deepEqual(
    started,
    ['STATE_LOST', 'STATE_KEYS', 'STATE_EXPIRED', 'STATE_TAKEN_TWICE', 'LOCK_BROKEN'].map(
      (code) => `state store ${code}`,
    ),
  )
})

test('every provider of a capability is tested, and a capability without a suite is skipped', async (t) => {
  const Unknown = many<string>('of somebody')
  const several = definePlugin({
    name: 'several',
    api: 1,
    provides: [Health, Unknown],
    setup(gateway) {
      gateway.provide(Unknown, 'value')
      for (const name of ['one', 'two']) gateway.provide(Health, { name, check: () => ({ status: 'ok' }) })
    },
  })
  const runner = new ConformanceRunner([Health, Unknown])
  const app = await booted(t, [{ use: runner.plugin }, { use: several }])
  const results = []
  for await (const result of runner.run(app)) results.push(result)
  // The gateway has a health of its own.
  assert.equal(results.length, 3 * 3)
  assert.ok(results.every(({ state }) => state === 'passed'))
})
