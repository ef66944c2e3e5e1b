import { hash } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import type { Gateway, HealthState, Log, Measure, Meter, Scrubber } from 'sallyport'
import { within } from 'sallyport/toolkit'
import { CONNECT_LIMIT, Connector } from './connector.js'
import { DatabaseHealth } from './database-health.js'
import { databaseFailure, tooSlow } from './failure.js'
import { Listener } from './listener.js'
import { type Lock, Locks } from './locks.js'
import type { DatabaseOptions } from './options.js'
import { Semaphore } from './semaphore.js'
import { Session } from './session.js'
import { inTransaction, type Statements, type TransactionOptions, WRITE_LIMIT } from './transaction.js'

export type { Lock } from './locks.js'
export { READ_LIMIT, type Statements, type TransactionOptions, WRITE_LIMIT } from './transaction.js'

interface Context {
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly scrubber: Scrubber
  readonly path: Gateway['path']
}

const CONNECTIONS = 4
const LONGEST_POLL = 30_000

/**
 * PostgreSQL for plugins that store in it. Every wait is bounded; while the database is away, calls fail with an
 * `UpstreamError` of 503. `open` does not use the network; `start` belongs into `onStart`, `close` into `onStop`.
 */
export class Database {
  /** For work that keeps a connection long: one connection always stays free for others. */
  readonly longReads = new Semaphore(CONNECTIONS - 1)
  private readonly pool: Pool
  private readonly measures: DatabaseMeasures
  private readonly locks: Locks
  private readonly listener: Listener
  private readonly databaseHealth: DatabaseHealth

  static async open(options: DatabaseOptions, context: Context): Promise<Database> {
    return new Database(await Connector.open(options, context), options, context)
  }

  private constructor(
    private readonly connector: Connector,
    private readonly options: DatabaseOptions,
    { log }: Context,
  ) {
    const { schema } = options
    const connectionLost = (use: string): void => {
      this.measures.lost(use)
      this.databaseHealth.suspect()
    }
    this.pool = new connector.driver.Pool({
      Client: connector.clientClass('pooled'),
      max: CONNECTIONS,
      connectionTimeoutMillis: CONNECT_LIMIT,
      idleTimeoutMillis: 30_000,
    })
    this.measures = new DatabaseMeasures(this.pool)
    // An idle connection may fail; without a listener the process would end.
    this.pool.on('error', () => connectionLost('pool'))
    const open = () =>
      Session.open(connector, schema).catch((error: unknown) => {
        this.databaseHealth.suspect()
        throw error
      })
    this.locks = new Locks({ schema, log, open, lost: () => connectionLost('locks') })
    this.listener = new Listener({ open, lost: () => connectionLost('notifications') })
    this.databaseHealth = new DatabaseHealth({
      options,
      connector,
      log,
      transaction: (work, limits) => this.transaction(work, limits),
    })
  }

  /**
   * Measures with this meter, until the caller calls the returned function. Call it before `start`, and in `onStart`.
   */
  measureBy(meter: Meter): () => void {
    return this.measures.add(meter)
  }

  /** Checks the schema level, and migrates if the options say so. Throws a `ConfigError` for an unusable database. */
  start(): Promise<void> {
    return this.databaseHealth.start()
  }

  async close(): Promise<void> {
    this.databaseHealth.close()
    await Promise.all([this.listener.close(), this.locks.close()])
    this.connector.close()
    await this.pool.end()
  }

  /** Without secrets. */
  get place(): string {
    return `${this.connector.describe('pooled').place}, schema ${this.options.schema}`
  }

  health(): HealthState {
    return this.databaseHealth.health()
  }

  /** Commits all statements of `work`, or none when it throws. Table names have no schema. */
  async transaction<T>(
    work: (statements: Statements) => T | Promise<T>,
    options: TransactionOptions = {},
  ): Promise<T> {
    const { limit = WRITE_LIMIT } = options
    const end = performance.now() + limit
    let client: PoolClient | undefined
    let isBroken = false
    try {
      client = await this.connected(limit)
      const dispose = (): void => {
        isBroken = true
      }
      const left = { ...options, limit: end - performance.now(), committed: this.committed }
      return await inTransaction(client, this.options.schema, work, dispose, left)
    } catch (error) {
      this.databaseHealth.failed(error)
      throw error
    } finally {
      client?.release(isBroken)
    }
  }

  private async connected(limit: number): Promise<PoolClient> {
    const connecting = this.pool.connect()
    return within(Math.max(1, limit), connecting, tooSlow).catch((error: unknown) => {
      // A connection that comes too late goes to the next caller.
      connecting.then(
        (late) => late.release(),
        () => {},
      )
      throw databaseFailure(error)
    })
  }

  /** Waits for the lock of this key, in this process and all others, and runs `work` under it. */
  locked<T>(key: string, work: (lock: Lock) => Promise<T>): Promise<T> {
    return this.locks.locked(key, (lock) => work(this.observed(lock)))
  }

  /** Calls `work` whenever this process gets the lock. The returned function releases the lock, and then settles. */
  lead(key: string, work: (lock: Lock) => void): () => Promise<void> {
    return this.locks.lead(key, (lock) => work(this.observed(lock)))
  }

  /**
   * Calls `wake` when a transaction that notified this topic was committed, whenever notifications may have been lost,
   * and now and then: where `url` is a pooler without `directUrl`, nothing arrives.
   */
  listen(topic: string, wake: () => void, longestPoll = LONGEST_POLL): () => void {
    const stop = this.listener.listen(this.channel(topic), wake)
    const timer = setInterval(wake, longestPoll * (0.8 + Math.random() * 0.2)).unref()
    return () => {
      clearInterval(timer)
      stop()
    }
  }

  /** Wakes the listeners of this topic in all processes, once the transaction is committed. */
  async notify(statements: Statements, topic: string): Promise<void> {
    await statements.query('select pg_notify($1, $2)', [this.channel(topic), ''])
  }

  private readonly committed = (hasWritten: boolean): void => this.databaseHealth.succeeded(hasWritten)

  /** The results of writes count for the health too. */
  private observed(lock: Lock): Lock {
    const { committed, databaseHealth } = this
    return {
      ...lock,
      async transaction(work, options) {
        try {
          return await lock.transaction(work, { ...options, committed })
        } catch (error) {
          databaseHealth.writeFailed(error)
          throw error
        }
      },
    }
  }

  /** A channel name has at most 63 bytes, and all schemas of a database share the channels. */
  private channel(topic: string): string {
    const digest = hash('sha256', `${this.options.schema}\0${topic}`)
    return `sallyport_${digest.slice(0, 32)}`
  }
}

interface Measures {
  readonly connections: Measure
  readonly lost: Measure
}

/** The metrics of a database. Over a reload the old and the new list share them, each with a meter of its own. */
class DatabaseMeasures {
  private readonly meters = new Set<Measures>()

  constructor(private readonly pool: Pool) {
    for (const event of ['acquire', 'remove'] as const) pool.on(event, () => this.measure())
    // The pool emits `release` before it counts the connection as idle.
    pool.on('release', () => queueMicrotask(() => this.measure()))
  }

  /** Measures with this meter too, until the caller calls the returned function. */
  add(meter: Meter): () => void {
    const measures = {
      connections: meter.gauge(
        'database_pool_connections',
        'Connections to the database by their state, and callers that wait for one',
        ['state'],
      ),
      lost: meter.counter(
        'database_connections_lost_total',
        'Connections to the database that ended unexpectedly',
        ['use'],
      ),
    }
    this.meters.add(measures)
    this.measure()
    return () => void this.meters.delete(measures)
  }

  /** Counted once: a counter goes on over a reload. */
  lost(use: string): void {
    const newest = [...this.meters].at(-1)
    newest?.lost(1, { use })
  }

  private measure(): void {
    const { totalCount, idleCount, waitingCount } = this.pool
    for (const { connections } of this.meters) {
      connections(totalCount - idleCount, { state: 'in use' })
      connections(idleCount, { state: 'idle' })
      connections(waitingCount, { state: 'waiting' })
    }
  }
}
