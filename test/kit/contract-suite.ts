import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Capability, List } from 'sallyport'
import { createLog, isPlannedScope, type PlannedScope, planList } from 'sallyport/embed'
import type { Fixtures } from '#core/conformance/requirement.js'
import { ConformanceRunner } from '#core/conformance/runner.js'
import { booted, contextFor, recordedLog } from './booted.js'

/** A list under test, and the fixtures that only its author knows. */
export interface ContractCase {
  readonly list: List
  readonly fixtures?: Fixtures
  /** @deprecated now `fixtures` */
  readonly facts?: Fixtures
}

/**
 * Tests everything that a list provides against the requirements of its capabilities, in one subtest for each
 * requirement. A requirement that needs further `fixtures` or options to decide fails too.
 */
export function contractSuite(
  name: string,
  start: (t: TestContext) => ContractCase | Promise<ContractCase>,
): void {
  test(`${name} keeps its contract`, async (t) => {
    const { list, facts = {}, fixtures = facts } = await start(t)
    const quiet = contextFor({ log: createLog({ level: 'silent' }) })
    const runner = new ConformanceRunner(providedBy(await planList(list, quiet)), { fixtures })
    const { log, lines, scrubber } = recordedLog()
    const app = await booted(t, [{ use: runner.plugin }, ...list], { log, scrubber })
    let count = 0
    for await (const { capability, requirement, state, detail } of runner.run(app)) {
      count++
      await t.test(`${capability}: ${requirement.statement}`, () => {
        assert.equal(state, 'passed', `${requirement.code}: ${detail}; ${requirement.advice}`)
      })
    }
    assert.ok(count > 0, 'nothing in the list provides a capability that there is a suite for')
    const secrets = [fixtures.token, fixtures.secret?.value].filter((secret) => secret !== undefined)
    const logged = secrets.some((secret) => JSON.stringify(lines).includes(secret))
    assert.equal(logged, false, 'a secret is in the log')
  })
}

const providedBy = ({ items }: PlannedScope): readonly Capability[] =>
  items.flatMap((item) => (isPlannedScope(item) ? [] : (item.plugin.provides ?? [])))
