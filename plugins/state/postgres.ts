import { AsyncLocalStorage } from 'node:async_hooks'
import { definePlugin, Health, StateStore } from 'sallyport'
import { bytesOf, textOf } from '#plugins/store/bytes.js'
import { loadDriver } from '#plugins/store/database/connector.js'
import {
  Database,
  type Lock,
  READ_LIMIT,
  type Statements,
  type TransactionOptions,
  WRITE_LIMIT,
} from '#plugins/store/database/database.js'
import { databaseOptions } from '#plugins/store/database/options.js'
import { SealedValues, sharedKeyOptions } from './sealed-values.js'

export default definePlugin({
  name: 'state/postgres',
  api: 1,
  summary: 'Stores tokens and registered clients in PostgreSQL, encrypted, for all replicas of a gateway.',
  provides: [StateStore, Health],
  options: databaseOptions.safeExtend(sharedKeyOptions),

  async setup(gateway, options) {
    const values = SealedValues.open(gateway, options)
    const database = await Database.open(options, gateway)
    gateway.onStop(() => database.close())
    gateway.onStart(() => {
      database.measureBy(gateway.meter)
      return database.start()
    })
    gateway.provide(StateStore, new DatabaseStore(database, values))
    gateway.provide(Health, { name: gateway.id, check: () => database.health() })
  },

  importPackages: loadDriver,

  async migrate({ path, signal }, options) {
    const { migrateDatabase } = await import('#plugins/store/database/migrate.js')
    return migrateDatabase(options, path, signal)
  },

  async examine(examination, options) {
    const { examineDatabase } = await import('#plugins/store/database/examine.js')
    await examineDatabase(examination, options)
  },
})

type SetOptions = NonNullable<Parameters<StateStore['set']>[2]>

/** How many expired values each write deletes. */
const SWEPT = 100

/**
 * A row for each value, encrypted with the key that the processes share. Within `locked`, every statement uses the
 * connection that holds the lock, and fails when the lock was lost.
 */
export class DatabaseStore implements StateStore {
  private readonly held = new AsyncLocalStorage<Lock>()

  constructor(
    private readonly database: Database,
    private readonly values: SealedValues,
  ) {}

  get(key: string): Promise<string | undefined> {
    return this.transaction((statements) => this.read(statements, key), READ_LIMIT)
  }

  async set(key: string, value: string, { expiresAt }: SetOptions = {}): Promise<void> {
    const sealed = Buffer.from(this.values.seal(text(key), text(value)))
    await this.transaction(async (statements) => {
      // Throws for a value of another key, so that the caller does not overwrite it.
      await this.read(statements, key)
      await statements.query(
        `insert into state (key, value, expires_at) values ($1, $2, to_timestamp($3::float8 / 1000))
         on conflict (sha256(key)) do update
         set value = excluded.value, expires_at = excluded.expires_at, changed_at = now()`,
        [bytesOf(key), sealed, expiresAt ?? null],
      )
      // Skips rows that another process is deleting, instead of waiting for it.
      await statements.query(
        `delete from state where ctid = any (array(
           select ctid from state where expires_at <= now() limit ${SWEPT} for update skip locked))`,
      )
    })
  }

  take(key: string): Promise<string | undefined> {
    // A value that cannot be decrypted stays: the error ends the transaction.
    return this.transaction(async ({ query }) => {
      const [row] = await query<{ value: Buffer }>(
        'delete from state where sha256(key) = sha256($1) and (expires_at is null or expires_at > now()) returning value',
        [bytesOf(key)],
      )
      return row && this.opened(key, row.value)
    })
  }

  async delete(key: string): Promise<void> {
    await this.transaction(({ query }) =>
      query('delete from state where sha256(key) = sha256($1)', [bytesOf(key)]),
    )
  }

  async keys(prefix: string): Promise<readonly string[]> {
    const rows = await this.transaction(
      ({ query }) =>
        query<{ key: Buffer }>('select key from state where expires_at is null or expires_at > now()'),
      READ_LIMIT,
    )
    const keys = rows.map(({ key }) => textOf(key))
    return keys.filter((key) => key.startsWith(prefix)).sort()
  }

  locked<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.database.locked(`state/${key}`, (lock) => this.held.run(lock, work))
  }

  private async read({ query }: Statements, key: string): Promise<string | undefined> {
    const [row] = await query<{ value: Buffer }>(
      'select value from state where sha256(key) = sha256($1) and (expires_at is null or expires_at > now())',
      [bytesOf(key)],
    )
    return row && this.opened(key, row.value)
  }

  private opened(key: string, value: Buffer): string {
    return textOf(Buffer.from(this.values.open(text(key), value.toString())))
  }

  private transaction<T>(work: (statements: Statements) => Promise<T>, limit = WRITE_LIMIT): Promise<T> {
    const options: TransactionOptions = { limit }
    const lock = this.held.getStore()
    // A timer that was set under a lock may fire long after its release.
    return lock === undefined || lock.isReleased()
      ? this.database.transaction(work, options)
      : lock.transaction(work, options)
  }
}

// The encrypted text is UTF-8, which has no half surrogates.
const text = (any: string): string => bytesOf(any).toString()
