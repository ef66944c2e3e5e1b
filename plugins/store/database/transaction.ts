import type { ClientBase, QueryResultRow } from 'pg'
import { within } from 'sallyport/toolkit'
import { databaseFailure, tooSlow, unavailable } from './failure.js'

/** Runs statements of one transaction. Tables are named without a schema. */
export interface Statements {
  readonly query: <Row extends QueryResultRow>(text: string, values?: readonly unknown[]) => Promise<Row[]>
}

export interface TransactionOptions {
  /** Milliseconds for the whole transaction, so that a silent server blocks no caller longer; 9 s by default. */
  readonly limit?: number
  /** Every statement sees the same state of the database. */
  readonly snapshot?: boolean
  readonly signal?: AbortSignal | undefined
  /** Called after the commit, with whether any row was written. */
  readonly committed?: ((hasWritten: boolean) => void) | undefined
  /** Called when the answer to the commit was lost, so that its result is unknown. */
  readonly uncertain?: (() => void) | undefined
}

export const READ_LIMIT = 2_000
// Clients and proxies often give up after ten.
export const WRITE_LIMIT = 9_000
// A large transaction may take longer than this, but no single statement of it.
export const STATEMENT_LIMIT = 8_000
// A suspended process holds no row for longer.
const IDLE_LIMIT = 30_000
const WRITES = ['INSERT', 'UPDATE', 'DELETE']

/**
 * Runs `work` in a transaction with settings of its own: a pooler in transaction mode would give the settings of a
 * session to other clients. Calls `dispose` when the connection can no longer be used.
 */
export async function inTransaction<T>(
  client: ClientBase,
  schema: string,
  work: (statements: Statements) => T | Promise<T>,
  dispose: () => void,
  { limit = WRITE_LIMIT, snapshot = false, signal, committed, uncertain }: TransactionOptions = {},
): Promise<T> {
  const end = performance.now() + limit
  let isOpen = true
  let hasWritten = false
  const run = async (text: string, values: readonly unknown[] = []) => {
    if (!isOpen) throw unavailable('its transaction has ended')
    const left = Math.min(Math.max(1, end - performance.now()), STATEMENT_LIMIT)
    try {
      return await within(left, client.query(text, [...values]), tooSlow, signal)
    } catch (error) {
      // After an error with a SQLSTATE the connection is good. After any other error its state is unknown.
      if (isSqlError(error)) throw databaseFailure(error)
      isOpen = false
      dispose()
      throw signal?.aborted === true ? signal.reason : databaseFailure(error)
    }
  }
  const settings = [
    // Independent of the server's default: after waiting for a lock, a transaction must see the rows that its holder
    // wrote.
    `begin isolation level ${snapshot ? 'repeatable read read only' : 'read committed'}`,
    `set local search_path to "${schema}"`,
    // The driver parses no other format of dates.
    'set local datestyle to iso',
    `set local statement_timeout to ${Math.ceil(Math.min(Math.max(1, limit), STATEMENT_LIMIT))}`,
    `set local idle_in_transaction_session_timeout to ${IDLE_LIMIT}`,
  ]
  try {
    await run(settings.join('; '))
    const result = await work({
      query: async (text, values) => {
        const { rows, rowCount, command } = await run(text, values)
        if (WRITES.includes(command) && rowCount !== 0) hasWritten = true
        return rows
      },
    })
    const { command } = await run('commit').catch((error: unknown) => {
      if (!isOpen) uncertain?.()
      throw error
    })
    // The state of a transaction in which a statement failed.
    if (command !== 'COMMIT') throw unavailable('it did not commit')
    committed?.(hasWritten)
    return result
  } catch (error) {
    if (isOpen) await run('rollback').catch(() => {})
    throw error
  } finally {
    isOpen = false
  }
}

function isSqlError(error: unknown): boolean {
  // 57P: the server ends the session, as when an administrator does.
  return error instanceof Error && 'code' in error && /^(?!57P)[0-9A-Z]{5}$/.test(String(error.code))
}
