import type { Redis } from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import type { HealthState, Log } from 'sallyport'
import { within } from 'sallyport/toolkit'
import { tooSlow } from '#plugins/store/redis/client.js'
import type { RedisConnection } from '#plugins/store/redis/connection.js'
import { isWriteRefusal, reasonOf } from '#plugins/store/redis/failure.js'
import { Counter, type Over } from './counter.js'
import type { Limit } from './options.js'

/** Milliseconds after which a request is counted here, since Redis is silent. */
const PATIENCE = 1_000

interface Dependencies {
  readonly connection: RedisConnection
  readonly limits: readonly Limit[]
  /** What all keys begin with. */
  readonly prefix: string
  readonly log: Pick<Log, 'info' | 'warn'>
}

/** Counts in Redis while that can be used, else in this process: a limit of each replica is better than none, or no service. */
export class RedisCounters {
  private readonly connection: RedisConnection
  private readonly counters = new WeakMap<Redis, readonly Counter[]>()
  private isAway = false
  /** Why the last count failed, and at which connection: the next one begins anew. */
  private refusal: { readonly client: Redis; readonly reason: string } | undefined

  constructor(private readonly dependencies: Dependencies) {
    this.connection = dependencies.connection
  }

  async count(
    inRedis: (counters: readonly Counter[]) => Promise<Over | undefined>,
    here: () => Promise<Over | undefined>,
  ): Promise<Over | undefined> {
    const { client } = this.connection
    if (client === undefined) return this.away(here)
    try {
      const over = await within(PATIENCE, inRedis(this.countersOf(client)), tooSlow)
      this.connection.worked(client)
      this.refusal = undefined
      this.back()
      return over
    } catch (error) {
      this.connection.failed(client, error)
      const reason = reasonOf(error)
      // Whether writes are refused, the connection finds out by itself, also when nobody comes.
      this.refusal = isWriteRefusal(error) ? undefined : { client, reason }
      return this.away(here, reason)
    }
  }

  health(): HealthState {
    const { client } = this.connection
    const refusal = client === this.refusal?.client ? this.refusal?.reason : undefined
    const { status, reason = refusal } = this.connection.health()
    return status === 'ok' && reason === undefined
      ? { status }
      : { status: 'degraded', reason: `${reason}; limits count in this process` }
  }

  private countersOf(client: Redis): readonly Counter[] {
    const known = this.counters.get(client)
    if (known !== undefined) return known
    const { limits, prefix } = this.dependencies
    const made = limits.map(
      (limit) =>
        new Counter(
          limit,
          (span) =>
            new RateLimiterRedis({ ...span, storeClient: client, keyPrefix: `${prefix}${span.keyPrefix}` }),
        ),
    )
    this.counters.set(client, made)
    return made
  }

  private away<Answer>(here: () => Promise<Answer>, reason?: string): Promise<Answer> {
    if (!this.isAway) {
      this.isAway = true
      const message = 'limits are counted in this process alone, since Redis cannot be used'
      this.dependencies.log.warn(reason === undefined ? {} : { reason }, message)
    }
    return here()
  }

  private back(): void {
    if (!this.isAway) return
    this.isAway = false
    this.dependencies.log.info('limits are counted in Redis again')
  }
}
