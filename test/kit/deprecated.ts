// What `sallyport/testing` exported in 0.1 and keeps for one more release.

import type { FastifyInstance } from 'fastify'
import type { Capability, Plugin } from 'sallyport'
import type {
  CheckResult,
  ConformanceContext,
  ConformanceSuite,
  Fixtures,
  Requirement,
} from '#core/conformance/requirement.js'
import { type ConformanceResult, ConformanceRunner } from '#core/conformance/runner.js'
import { conformanceSuites } from '#core/conformance/suites.js'

export {
  /** @deprecated now `Inconclusive` */
  Inconclusive as Doubt,
} from '#core/conformance/requirement.js'

/** @deprecated now `Fixtures` */
export type Facts = Fixtures

/** @deprecated now `ConformanceContext` */
export type Place = ConformanceContext

/** @deprecated now `CheckResult` */
export type Outcome = CheckResult

/** @deprecated now `Requirement` */
export interface Clause<T> extends Requirement<T> {
  readonly asks: string
}

/** @deprecated now `ConformanceSuite` */
export interface Contract<T> {
  readonly capability: ConformanceSuite<T>['capability']
  readonly clauses: readonly Clause<T>[]
}

/** @deprecated now `ConformanceResult` */
export interface Judgement {
  readonly contract: string
  readonly clause: Pick<Clause<unknown>, 'code' | 'asks' | 'advice'>
  readonly state: 'kept' | 'broken' | 'unsure'
  readonly detail?: string
}

/** @deprecated now `ConformanceOptions` */
export interface BenchOptions {
  readonly facts?: Fixtures
  readonly patience?: number
  readonly begins?: (contract: string, clause: Pick<Clause<unknown>, 'code' | 'asks'>) => void
}

/** @deprecated now `conformanceSuites` */
export const contracts: readonly Contract<unknown>[] = conformanceSuites.map(
  ({ capability, requirements }) => ({
    capability,
    clauses: requirements.map((requirement) => ({ ...requirement, asks: requirement.statement })),
  }),
)

const STATES = { passed: 'kept', failed: 'broken', inconclusive: 'unsure' } as const

/** @deprecated now `ConformanceRunner` */
export class Bench {
  readonly plugin: Plugin
  private readonly runner: ConformanceRunner

  constructor(provided: readonly Capability[], { facts, patience, begins }: BenchOptions = {}) {
    this.runner = new ConformanceRunner(provided, {
      ...(facts !== undefined && { fixtures: facts }),
      ...(patience !== undefined && { timeout: patience }),
      onCheck: (capability, { code, statement }) => begins?.(capability, { code, asks: statement }),
    })
    this.plugin = this.runner.plugin
  }

  async *judge(app: FastifyInstance): AsyncGenerator<Judgement> {
    for await (const result of this.runner.run(app)) yield judgementOf(result)
  }
}

function judgementOf({ capability, requirement, state, detail }: ConformanceResult): Judgement {
  const { code, statement, advice } = requirement
  return {
    contract: capability,
    clause: { code, asks: statement, advice },
    state: STATES[state],
    ...(detail !== undefined && { detail }),
  }
}
