import { AsyncLocalStorage } from 'node:async_hooks'
import type { StateStore } from 'sallyport'
import {
  type Database,
  type Lock,
  READ_LIMIT,
  type Statements,
  type TransactionOptions,
  WRITE_LIMIT,
} from '#plugins/store/database/database.js'
import { bytesOf, textOf } from '#plugins/store/database/text-bytes.js'
import type { SealedValues } from './sealed-values.js'

/**
 * A row for each value, which nobody can read without the key that the processes share. Within `locked`, everything goes
 * over the connection that holds the lock, and fails when the lock was lost.
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

  async set(key: string, value: string): Promise<void> {
    const sealed = Buffer.from(this.values.seal(text(key), text(value)))
    await this.transaction(async (statements) => {
      // Throws for a value of another key, which is not lost as long as nobody overwrites it.
      await this.read(statements, key)
      await statements.query(
        `insert into state (key, value) values ($1, $2)
         on conflict (sha256(key)) do update set value = excluded.value, changed_at = now()`,
        [bytesOf(key), sealed],
      )
    })
  }

  async delete(key: string): Promise<void> {
    await this.transaction(({ query }) =>
      query('delete from state where sha256(key) = sha256($1)', [bytesOf(key)]),
    )
  }

  async keys(prefix: string): Promise<readonly string[]> {
    const rows = await this.transaction(
      ({ query }) => query<{ key: Buffer }>('select key from state'),
      READ_LIMIT,
    )
    const keys = rows.map(({ key }) => textOf(key))
    return keys.filter((key) => key.startsWith(prefix)).sort()
  }

  locked<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.database.locked(`state/${key}`, (lock) => this.held.run(lock, work))
  }

  private async read({ query }: Statements, key: string): Promise<string | undefined> {
    const [row] = await query<{ value: Buffer }>('select value from state where sha256(key) = sha256($1)', [
      bytesOf(key),
    ])
    return row === undefined
      ? undefined
      : textOf(Buffer.from(this.values.open(text(key), row.value.toString())))
  }

  private transaction<T>(work: (statements: Statements) => Promise<T>, limit = WRITE_LIMIT): Promise<T> {
    const options: TransactionOptions = { limit }
    const lock = this.held.getStore()
    // A timer that was set under a lock may end long after it.
    return lock === undefined || lock.isReleased()
      ? this.database.transaction(work, options)
      : lock.transaction(work, options)
  }
}

// Encryption is of UTF-8, which has no half surrogates.
const text = (any: string): string => bytesOf(any).toString()
