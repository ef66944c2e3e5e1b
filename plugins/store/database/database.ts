import { hash } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import type { Gateway, HealthState, Log, Measure, Meter, Scrubber } from 'sallyport'
import { within } from 'sallyport/toolkit'
import { CONNECT_LIMIT, Connector } from './connector.js'
import { databaseFailure, tooSlow } from './failure.js'
import { Level } from './level.js'
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
 * PostgreSQL, as plugins that store in it use it. Every wait is bounded; what fails since the database is away is an
 * `UpstreamError` with 503. `open` waits for nothing in the network; `start` belongs into `onStart`, `close` into `onStop`.
 */
export class Database {
  /** For what keeps a connection for long: one is always left for others. */
  readonly longReads = new Semaphore(CONNECTIONS - 1)
  private readonly pool: Pool
  private readonly measures: DatabaseMeasures
  private readonly locks: Locks
  private readonly listener: Listener
  private readonly level: Level

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
      this.level.suspect()
    }
    this.pool = new connector.driver.Pool({
      Client: connector.clientClass('pooled'),
      max: CONNECTIONS,
      connectionTimeoutMillis: CONNECT_LIMIT,
      idleTimeoutMillis: 30_000,
    })
    this.measures = new DatabaseMeasures(this.pool)
    // Of an idle connection; without a listener the process would end.
    this.pool.on('error', () => connectionLost('pool'))
    const open = () =>
      Session.open(connector, schema).catch((error: unknown) => {
        this.level.suspect()
        throw error
      })
    this.locks = new Locks({ schema, log, open, lost: () => connectionLost('locks') })
    this.listener = new Listener({ open, lost: () => connectionLost('notifications') })
    this.level = new Level({
      options,
      connector,
      log,
      transaction: (work, limits) => this.transaction(work, limits),
    })
  }

  /** Measures by this meter, until the function that it returns is called: before `start`, and in `onStart`. */
  measureBy(meter: Meter): () => void {
    return this.measures.add(meter)
  }

  /** Checks the level, and migrates if the options say so. Throws a `ConfigError` for a database that cannot be used. */
  start(): Promise<void> {
    return this.level.start()
  }

  async close(): Promise<void> {
    this.level.close()
    await Promise.all([this.listener.close(), this.locks.close()])
    this.connector.close()
    await this.pool.end()
  }

  /** Without secrets. */
  get place(): string {
    return `${this.connector.describe('pooled').place}, schema ${this.options.schema}`
  }

  health(): HealthState {
    return this.level.health()
  }

  /** All statements of `work`, or none when it throws. Tables are named without a schema. */
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
      this.level.failed(error)
      throw error
    } finally {
      client?.release(isBroken)
    }
  }

  private async connected(limit: number): Promise<PoolClient> {
    const connecting = this.pool.connect()
    return within(Math.max(1, limit), connecting, tooSlow).catch((error: unknown) => {
      // One that comes too late is for the next.
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

  /** Calls `work` whenever this process gets the lock. The function that it returns gives it up, and settles then. */
  lead(key: string, work: (lock: Lock) => void): () => Promise<void> {
    return this.locks.lead(key, (lock) => work(this.observed(lock)))
  }

  /**
   * Calls `wake` when a transaction that notified this topic was committed, whenever notifications may have been lost, and
   * now and then: where `url` is a pooler without `directUrl`, nothing arrives.
   */
  listen(topic: string, wake: () => void, longestPoll = LONGEST_POLL): () => void {
    const stop = this.listener.listen(this.channel(topic), wake)
    const timer = setInterval(wake, longestPoll * (0.8 + Math.random() * 0.2)).unref()
    return () => {
      clearInterval(timer)
      stop()
    }
  }

  /** Wakes those who listen to this topic, in all processes, once the transaction is committed. */
  async notify(statements: Statements, topic: string): Promise<void> {
    await statements.query('select pg_notify($1, $2)', [this.channel(topic), ''])
  }

  private readonly committed = (hasWritten: boolean): void => this.level.succeeded(hasWritten)

  /** Whether the database stores what it is given counts there too. */
  private observed(lock: Lock): Lock {
    const { committed, level } = this
    return {
      ...lock,
      async transaction(work, options) {
        try {
          return await lock.transaction(work, { ...options, committed })
        } catch (error) {
          level.writeFailed(error)
          throw error
        }
      },
    }
  }

  /** A name of a channel has at most 63 bytes, and all schemas of a database share them. */
  private channel(topic: string): string {
    const digest = hash('sha256', `${this.options.schema}\0${topic}`)
    return `sallyport_${digest.slice(0, 32)}`
  }
}

interface Measures {
  readonly connections: Measure
  readonly lost: Measure
}

/** What is measured of a database. Over a reload the lists before and after it share one, and each has a meter. */
class DatabaseMeasures {
  private readonly meters = new Set<Measures>()

  constructor(private readonly pool: Pool) {
    for (const event of ['acquire', 'remove'] as const) pool.on(event, () => this.measure())
    // Emitted before the connection is among the idle ones.
    pool.on('release', () => queueMicrotask(() => this.measure()))
  }

  /** Measures by this one too, until the function that it returns is called. */
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
