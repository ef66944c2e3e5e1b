import type { FastifyInstance, FastifyRequest, InjectOptions } from 'fastify'
import { Guard } from '../contract/capabilities/guard.js'
import type { Capability } from '../contract/capability.js'
import { Refusal } from '../contract/errors.js'
import { definePlugin, type Plugin } from '../contract/plugin.js'
import { credentialsOf } from '../gate/credentials.js'
import { within } from '../toolkit/deadline.js'
import {
  type ConformanceContext,
  type ConformanceSuite,
  type Fixtures,
  Inconclusive,
  messageOf,
  type Requirement,
} from './requirement.js'
import { ROUTE, sampleRequests } from './sample-requests.js'
import { conformanceSuites } from './suites.js'

/** The result of one requirement. */
export interface ConformanceResult {
  /** The name of the capability. */
  readonly capability: string
  readonly requirement: Pick<Requirement<unknown>, 'code' | 'statement' | 'advice'>
  readonly state: 'passed' | 'failed' | 'inconclusive'
  /** The fault, or why the test could not find out. */
  readonly detail?: string
}

export interface ConformanceOptions {
  readonly fixtures?: Fixtures
  /** Milliseconds that one promise of the plugin may take; 5000 by default. */
  readonly timeout?: number
  /** Called before each requirement, so that another process can report which one does not end. */
  readonly onCheck?: (
    capability: string,
    requirement: Pick<Requirement<unknown>, 'code' | 'statement'>,
  ) => void
}

/**
 * Tests the providers of a list against the requirements of each capability. Its `plugin` comes first in the list,
 * before every plugin that could refuse or change a request.
 */
export class ConformanceRunner {
  readonly plugin: Plugin
  private readonly providers = new Map<ConformanceSuite<unknown>, () => readonly unknown[]>()
  private check: ((request: FastifyRequest) => unknown) | undefined

  constructor(
    provided: readonly Capability[],
    private readonly options: ConformanceOptions = {},
  ) {
    const tokens = provided.map(({ token }) => token)
    const suites = conformanceSuites.filter(({ capability }) => tokens.includes(capability.token))
    this.plugin = definePlugin({
      name: 'testing/conformance',
      api: 1,
      provides: [Guard],
      requires: suites.map(({ capability }) => capability).filter(({ kind }) => kind === 'one'),
      setup: (gateway) => {
        const own: Guard = (request) => this.receive(request)
        for (const suite of suites) {
          const { capability } = suite
          if (capability.kind === 'one') {
            const one = gateway.use(capability)
            this.providers.set(suite, () => [one()])
          } else {
            const many = gateway.use(capability)
            this.providers.set(suite, () => many().filter((each) => each !== own))
          }
        }
        gateway.provide(Guard, own)
        gateway.http.all(ROUTE, { config: { public: true } }, async () => 'never reached')
      },
    })
  }

  /** Checks every requirement for every provider, one after the other. The list must be booted. */
  async *run(app: FastifyInstance): AsyncGenerator<ConformanceResult> {
    const context = this.contextFor(app)
    for (const [suite, providers] of this.providers) {
      for (const provider of providers()) {
        for (const requirement of suite.requirements) {
          this.options.onCheck?.(suite.capability.name, requirement)
          yield await resultOf(suite, requirement, provider, context)
        }
      }
    }
  }

  private contextFor(app: FastifyInstance): ConformanceContext {
    const { fixtures = {}, timeout = 5_000 } = this.options
    const authorization = 'Bearer of-the-caller'
    return {
      fixtures,
      timeout,
      anonymousRequests: (check) => this.send(app, sampleRequests, check),
      authenticatedRequest: (check) =>
        this.send(app, [{ url: ROUTE, headers: { authorization } }], (request) => {
          const token = 'of-the-caller'
          request.identity = { provider: 'conformance', subject: 'somebody', claims: {}, token }
          return check(request)
        }),
    }
  }

  private async send(
    app: FastifyInstance,
    requests: readonly InjectOptions[],
    check: (request: FastifyRequest) => unknown,
  ): Promise<void> {
    for (const request of requests) {
      let failure: { readonly error: unknown } | undefined
      this.check = async (received) => {
        try {
          await check(received)
        } catch (error) {
          failure = { error }
        }
      }
      await app.inject(request)
      this.check = undefined
      if (failure !== undefined) throw failure.error
    }
  }

  private async receive(request: FastifyRequest): Promise<void> {
    request.credentials = credentialsOf(request.raw)
    await this.check?.(request)
    throw new Refusal(403, 'UNAUTHORIZED', 'this gateway only tests plugins')
  }
}

async function resultOf<T>(
  { capability: { name } }: ConformanceSuite<T>,
  requirement: Requirement<T>,
  provider: T,
  context: ConformanceContext,
): Promise<ConformanceResult> {
  const { code, statement, advice } = requirement
  const about = { capability: name, requirement: { code, statement, advice } }
  // Two seconds more, since some requirements wait by themselves.
  const limit = context.timeout * (requirement.awaits ?? 1) + 2_000
  try {
    const checking = Promise.resolve().then(() => requirement.check(provider, context))
    const result = await within(limit, checking, () => new TimedOut())
    if (result === undefined) return { ...about, state: 'passed' }
    return result instanceof Inconclusive
      ? { ...about, state: 'inconclusive', detail: result.reason }
      : { ...about, state: 'failed', detail: result }
  } catch (error) {
    if (!(error instanceof TimedOut))
      return { ...about, state: 'failed', detail: `it throws: ${messageOf(error)}` }
    const hangs = { code: 'HANGS', statement, advice: 'limit every wait: requests wait for the plugin' }
    return { ...about, requirement: hangs, state: 'failed', detail: `no result after ${limit / 1000} s` }
  }
}

class TimedOut extends Error {}
