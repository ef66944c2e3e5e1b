import type { FastifyInstance, FastifyRequest, InjectOptions } from 'fastify'
import { type Capability, credentialsOf, definePlugin, Guard, type Plugin, Refusal, within } from 'sallyport'
import { type Clause, type Contract, Doubt, type Facts, messageOf, type Place } from './contract.js'
import { authenticatorContract, guardContract } from './gate.js'
import { auditSinkContract, healthContract, telemetryContract } from './observers.js'
import { credentialContract, headerSourceContract } from './outgoing.js'
import { clientRegistrarContract } from './registrar.js'
import { oddRequests } from './requests.js'
import { sourceContract } from './source.js'
import { secretStoreContract, stateStoreContract } from './stores.js'
import { tunnelContract } from './tunnel.js'

/** Every contract that there is a suite for. */
export const contracts: readonly Contract<unknown>[] = [
  guardContract,
  authenticatorContract,
  credentialContract,
  headerSourceContract,
  secretStoreContract,
  stateStoreContract,
  sourceContract,
  clientRegistrarContract,
  tunnelContract,
  auditSinkContract,
  telemetryContract,
  healthContract,
]

/** What came of one clause. */
export interface Judgement {
  /** The name of the capability. */
  readonly contract: string
  readonly clause: Pick<Clause<unknown>, 'code' | 'asks' | 'advice'>
  /** `unsure` when it could not be seen from here. */
  readonly state: 'kept' | 'broken' | 'unsure'
  readonly detail?: string
}

export interface BenchOptions {
  readonly facts?: Facts
  /** Milliseconds that a clause may take; 5000 unless said. */
  readonly patience?: number
  /** Told before each clause, so that somebody outside knows where it hangs. */
  readonly begins?: (contract: string, clause: Pick<Clause<unknown>, 'code' | 'asks'>) => void
}

/**
 * Holds whatever a list provides against its contracts. Its `plugin` stands first in the list, before everything
 * that could refuse or change a request.
 */
export class Bench {
  readonly plugin: Plugin
  private readonly subjects = new Map<Contract<unknown>, () => readonly unknown[]>()
  private job: ((request: FastifyRequest) => unknown) | undefined

  constructor(
    provided: readonly Capability[],
    private readonly options: BenchOptions = {},
  ) {
    const tokens = provided.map(({ token }) => token)
    const wanted = contracts.filter(({ capability }) => tokens.includes(capability.token))
    const single = wanted.map(({ capability }) => capability).filter(({ kind }) => kind === 'one')
    this.plugin = definePlugin({
      name: 'testing/bench',
      api: 1,
      provides: [Guard],
      requires: single,
      setup: (gateway) => {
        const own: Guard = (request) => this.receive(request)
        for (const contract of wanted) {
          const { capability } = contract
          if (capability.kind === 'one') {
            const one = gateway.use(capability)
            this.subjects.set(contract, () => [one()])
          } else {
            const many = gateway.use(capability)
            this.subjects.set(contract, () => many().filter((each) => each !== own))
          }
        }
        gateway.provide(Guard, own)
        gateway.http.all('/bench', { config: { public: true } }, async () => 'never reached')
      },
    })
  }

  /** Every clause for everything that is provided, one after the other: ask when the list has been booted. */
  async *judge(app: FastifyInstance): AsyncGenerator<Judgement> {
    const place = this.placeIn(app)
    for (const [contract, subjects] of this.subjects) {
      for (const subject of subjects()) {
        for (const clause of contract.clauses) {
          this.options.begins?.(contract.capability.name, clause)
          yield await judged(contract, clause, subject, place)
        }
      }
    }
  }

  private placeIn(app: FastifyInstance): Place {
    const { facts = {}, patience = 5_000 } = this.options
    const send = async (requests: readonly InjectOptions[], ask: (request: FastifyRequest) => unknown) => {
      for (const request of requests) {
        let failure: { readonly error: unknown } | undefined
        this.job = async (received) => {
          try {
            await ask(received)
          } catch (error) {
            failure = { error }
          }
        }
        await app.inject(request)
        this.job = undefined
        if (failure !== undefined) throw failure.error
      }
    }
    return {
      facts,
      patience,
      strangers: (ask) => send(oddRequests, ask),
      caller: (ask) =>
        send([{ url: '/bench', headers: { authorization: 'Bearer of-the-caller' } }], (request) => {
          const token = 'of-the-caller'
          request.identity = { provider: 'bench', subject: 'somebody', claims: {}, token }
          return ask(request)
        }),
    }
  }

  private async receive(request: FastifyRequest): Promise<void> {
    request.credentials = credentialsOf(request.raw)
    await this.job?.(request)
    throw new Refusal(403, 'BENCH', 'nothing behind the bench is asked')
  }
}

async function judged<T>(
  { capability: { name } }: Contract<T>,
  clause: Clause<T>,
  subject: T,
  place: Place,
): Promise<Judgement> {
  const { code, asks, advice } = clause
  const about = { contract: name, clause: { code, asks, advice } }
  // What a clause itself waits for comes on top.
  const limit = place.patience * (clause.answers ?? 1) + 2_000
  try {
    const work = Promise.resolve().then(() => clause.look(subject, place))
    const outcome = await within(limit, work, () => new Hanging())
    if (outcome === undefined) return { ...about, state: 'kept' }
    return outcome instanceof Doubt
      ? { ...about, state: 'unsure', detail: outcome.reason }
      : { ...about, state: 'broken', detail: outcome }
  } catch (error) {
    if (!(error instanceof Hanging))
      return { ...about, state: 'broken', detail: `it throws: ${messageOf(error)}` }
    const hangs = { code: 'HANGS', asks, advice: 'give everything that waits a limit: requests wait for it' }
    return { ...about, clause: hangs, state: 'broken', detail: `it has not answered after ${limit / 1000} s` }
  }
}

class Hanging extends Error {}
