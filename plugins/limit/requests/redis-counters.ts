import type { Redis } from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import type { HealthState, Log } from 'sallyport'
import { within } from 'sallyport/toolkit'
import { tooSlow } from '#plugins/store/redis/client.js'
import type { RedisConnection } from '#plugins/store/redis/connection.js'
import { isWriteRefusal, reasonOf } from '#plugins/store/redis/failure.js'
import { Counter, type ExceededLimit } from './counter.js'
import type { Limit } from './options.js'

/** Milliseconds that a request waits for Redis before this process counts it. */
const PATIENCE = 1_000

interface Dependencies {
  readonly connection: RedisConnection
  readonly limits: readonly Limit[]
  /** The prefix of all keys. */
  readonly prefix: string
  readonly log: Pick<Log, 'info' | 'warn'>
}

/**
 * Counts in Redis while Redis can be used, else in this process: a limit for each replica is better than no limit, or
 * no service.
 */
export class RedisCounters {
  private readonly connection: RedisConnection
  private readonly counters = new WeakMap<Redis, readonly Counter[]>()
  private isAway = false
  /** Why the last count failed, and on which connection: a new connection has no failure yet. */
  private refusal: { readonly client: Redis; readonly reason: string } | undefined

  constructor(private readonly dependencies: Dependencies) {
    this.connection = dependencies.connection
  }

  async count(
    inRedis: (counters: readonly Counter[]) => Promise<ExceededLimit | undefined>,
    countLocally: () => Promise<ExceededLimit | undefined>,
  ): Promise<ExceededLimit | undefined> {
    const { client } = this.connection
    if (client === undefined) return this.fallBack(countLocally)
    try {
      const exceeded = await within(PATIENCE, inRedis(this.countersOf(client)), tooSlow)
      this.connection.worked(client)
      this.refusal = undefined
      this.recover()
      return exceeded
    } catch (error) {
      this.connection.failed(client, error)
      const reason = reasonOf(error)
      // The connection itself watches whether Redis refuses writes, also when no requests arrive.
      this.refusal = isWriteRefusal(error) ? undefined : { client, reason }
      return this.fallBack(countLocally, reason)
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

  private fallBack<Answer>(countLocally: () => Promise<Answer>, reason?: string): Promise<Answer> {
    if (!this.isAway) {
      this.isAway = true
      const message = 'Redis cannot be used: each process counts limits by itself'
      this.dependencies.log.warn(reason === undefined ? {} : { reason }, message)
    }
    return countLocally()
  }

  private recover(): void {
    if (!this.isAway) return
    this.isAway = false
    this.dependencies.log.info('Redis can be used again: it counts the limits of all processes')
  }
}
