import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Many, One } from 'sallyport'
import {
  type ConformanceResult,
  type ConformanceSuite,
  conformanceSuites,
  type Fixtures,
} from 'sallyport/testing'
import { ConformanceRunner } from '#core/conformance/runner.js'
import { providing } from '#kit/plugin.js'
import { booted } from './booted.js'

/** Runs the requirements of a capability against one provider. */
export async function resultsFor<T>(
  t: TestContext,
  capability: One<T> | Many<T>,
  provider: unknown,
  fixtures: Fixtures = {},
): Promise<readonly ConformanceResult[]> {
  const runner = new ConformanceRunner([capability], { fixtures, timeout: 500 })
  const plugin = providing('provider', capability, provider as T)
  const app = await booted(t, [{ use: runner.plugin }, plugin])
  const results: ConformanceResult[] = []
  for await (const result of runner.run(app)) results.push(result)
  return results
}

export interface FaultyProvider {
  readonly code: string
  readonly make: () => unknown
  readonly fixtures?: Fixtures
}

/** Tests that each faulty provider fails only the requirement of its code, and that each requirement has one. */
export function findsFaults<T>(
  capability: One<T> | Many<T>,
  faulty: Readonly<Record<string, FaultyProvider>>,
): void {
  const suite: ConformanceSuite<unknown> | undefined = conformanceSuites.find(
    (each) => each.capability.token === capability.token,
  )
  test(`every requirement of ${capability.name} has a provider that fails it`, () => {
    const tested = new Set(Object.values(faulty).map(({ code }) => code))
    assert.deepEqual([...tested].toSorted(), suite?.requirements.map(({ code }) => code).toSorted())
  })
  for (const [what, { code, make, fixtures }] of Object.entries(faulty)) {
    test(`${capability.name}: ${what} fails ${code} alone`, async (t) => {
      const results = await resultsFor(t, capability, make(), fixtures)
      const failed = results.filter(({ state }) => state === 'failed')
      assert.deepEqual(
        failed.map(({ requirement }) => requirement.code),
        [code],
        JSON.stringify(failed),
      )
    })
  }
}
