import { ConfigError, GatewayError, type HealthState, type Log } from 'sallyport'
import type { Connector } from './connector.js'
import { databaseFailure, notMigrated, refusesWrites } from './failure.js'
import { migrateSchema } from './migrate.js'
import type { DatabaseOptions } from './options.js'
import { Session } from './session.js'
import { inspectSchema, LEVEL } from './tables.js'
import { READ_LIMIT, type Statements, type TransactionOptions } from './transaction.js'

const CHECK_EVERY = 2_000
const CHECK_GOOD_EVERY = 60_000

interface Dependencies {
  readonly options: Pick<DatabaseOptions, 'schema' | 'migrate'>
  readonly connector: Connector
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly transaction: <T>(
    work: (statements: Statements) => T | Promise<T>,
    options: TransactionOptions,
  ) => Promise<T>
}

/**
 * Knows whether the database is usable. Checks it every two seconds while it is not, and every minute while it is: a
 * newer process may have migrated it to a level that this one cannot use.
 */
export class DatabaseHealth {
  private state: HealthState = { status: 'degraded', reason: 'the database was not reached yet' }
  private isGood = false
  private wasGood = false
  /** The failure of a write, until one succeeds: a read shows nothing about a full disk. */
  private refusal: HealthState | undefined
  /** The result of the last check. */
  private isReadOnly = false
  private timer: NodeJS.Timeout | undefined
  private dueAt = Number.POSITIVE_INFINITY
  private isChecking = false
  private isClosed = false

  constructor(private readonly dependencies: Dependencies) {}

  health(): HealthState {
    return this.state
  }

  async start(): Promise<void> {
    try {
      await this.check()
      this.schedule(CHECK_GOOD_EVERY)
    } catch (error) {
      if (error instanceof ConfigError) throw error
      this.checkFailed(error)
    }
  }

  close(): void {
    this.isClosed = true
    clearTimeout(this.timer)
  }

  succeeded(hasWritten: boolean): void {
    if (hasWritten) {
      this.refusal = undefined
      this.isReadOnly = false
    }
    if (!this.isGood || this.state.status === 'ok' || this.isReadOnly) return
    if (this.refusal !== undefined) this.become(this.refusal)
    else {
      this.state = { status: 'ok' }
      this.dependencies.log.info('the database can be used')
    }
  }

  writeFailed(error: unknown): void {
    if (!(error instanceof GatewayError) || error.code !== 'DATABASE_REFUSES_WRITES') return
    this.refusal = { status: 'degraded', reason: error.message }
    this.become(this.refusal)
  }

  /** Receives every failure. Only one that makes the whole database unusable changes the health. */
  failed(error: unknown): void {
    this.writeFailed(error)
    if (!(error instanceof GatewayError)) return
    if (error.code === 'DATABASE_NOT_MIGRATED' || error.code === 'DATABASE_UNAVAILABLE')
      this.checkFailed(error)
  }

  /** An idle connection has ended: the server may be away. */
  suspect(): void {
    this.schedule(0)
  }

  private async check(): Promise<void> {
    const { options, connector, transaction } = this.dependencies
    const { user } = connector.describe('pooled')
    const inspect = (statements: Statements) => inspectSchema(statements, options.schema, user)
    let found = await transaction(inspect, { limit: READ_LIMIT })
    if (found.level < LEVEL && options.migrate) {
      for (const line of await migrateSchema(connector, options.schema)) this.dependencies.log.info(line)
      found = await transaction(inspect, { limit: READ_LIMIT })
    }
    if (found.level < LEVEL) throw notMigrated()
    // Refuses a pooler in transaction mode.
    if (!this.isGood) (await Session.open(connector, options.schema)).end()
    this.isGood = true
    this.wasGood = true
    this.isReadOnly = !found.isWritable
    if (this.isReadOnly) throw refusesWrites()
    this.succeeded(false)
  }

  private become(state: HealthState): void {
    const { reason } = state
    if (this.isClosed) return
    if (this.state.reason !== reason) this.dependencies.log.warn({ reason }, 'the database cannot be used')
    this.state = state
    this.schedule(CHECK_EVERY)
  }

  private schedule(delay: number): void {
    const dueAt = performance.now() + delay
    if (this.isClosed || this.isChecking || this.dueAt <= dueAt) return
    clearTimeout(this.timer)
    this.dueAt = dueAt
    this.timer = setTimeout(() => void this.retry(), delay).unref()
  }

  private async retry(): Promise<void> {
    this.isChecking = true
    this.dueAt = Number.POSITIVE_INFINITY
    const failure = await this.check().catch((error: unknown) => databaseFailure(error))
    this.isChecking = false
    if (failure !== undefined) this.checkFailed(failure)
    this.schedule(this.state.status === 'ok' ? CHECK_GOOD_EVERY : CHECK_EVERY)
  }

  private checkFailed(error: unknown): void {
    const { code, message } = databaseFailure(error)
    const isMissing = code === 'DATABASE_NOT_MIGRATED'
    if (isMissing || code === 'CONFIG_INVALID') this.isGood = false
    // The process serves its last contents without the tables.
    const isDown = code === 'CONFIG_INVALID' || (isMissing && !this.wasGood)
    this.become({ status: isDown ? 'down' : 'degraded', reason: message })
  }
}
