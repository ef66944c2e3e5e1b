import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Capability, createLog, isPlannedScope, type List, type PlannedScope, planList } from 'sallyport'
import { booted, contextFor, recordedLog } from './booted.js'
import { Bench } from './contracts/bench.js'
import type { Facts } from './contracts/contract.js'

/** A list under test, and what only its author knows of it. */
export interface ContractCase {
  readonly list: List
  readonly facts?: Facts
}

/**
 * Holds everything that a list provides to its contract: guards, authenticators, credentials, header sources, stores,
 * sources, registrars and observers, each to what its capability asks for. One subtest for each thing that is asked.
 */
export function contractSuite(
  name: string,
  start: (t: TestContext) => ContractCase | Promise<ContractCase>,
): void {
  test(`${name} keeps its contract`, async (t) => {
    const { list, facts = {} } = await start(t)
    const quiet = contextFor({ log: createLog({ level: 'silent' }) })
    const bench = new Bench(providedIn(await planList(list, quiet)), { facts })
    const { log, lines, scrubber } = recordedLog()
    const app = await booted(t, [{ use: bench.plugin }, ...list], { log, scrubber })
    let asked = 0
    for await (const { contract, clause, state, detail } of bench.judge(app)) {
      asked++
      await t.test(`${contract}: ${clause.asks}`, () => {
        assert.equal(state, 'kept', `${clause.code}: ${detail}; ${clause.advice}`)
      })
    }
    assert.ok(asked > 0, 'nothing in the list has a contract that there is a suite for')
    const secrets = [facts.token, facts.secret?.value].filter((secret) => secret !== undefined)
    const told = secrets.some((secret) => JSON.stringify(lines).includes(secret))
    assert.equal(told, false, 'a secret is in the log')
  })
}

const providedIn = ({ items }: PlannedScope): readonly Capability[] =>
  items.flatMap((item) => (isPlannedScope(item) ? [] : (item.plugin.provides ?? [])))
