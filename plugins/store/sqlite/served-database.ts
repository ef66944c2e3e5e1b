import { statSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { resultCode, Unusable } from './failure.js'
import { openFile, type Tables } from './open-file.js'

type Call = (...args: readonly never[]) => unknown
type Calls = Readonly<Record<string, Call>>

/** Tables, and the calls that read and write them. Each call is atomic. */
export interface ServedTables<Reads extends object = object, Writes extends object = object> extends Tables {
  prepare(database: DatabaseSync): { readonly reads: Reads; readonly writes: Writes }
}

export interface Request {
  readonly id: number
  readonly name: string
  readonly args: readonly unknown[]
}

export type Outcome<T = unknown> = { readonly result: T } | { readonly error: unknown }

interface Opened {
  readonly database: DatabaseSync
  readonly reads: Calls
  readonly writes: Calls
  readonly identity: string | undefined
}

const FULL = 13
const UNANSWERED: Outcome = { error: new Error('it was not answered') }

/** A database in the thread that serves it. One commit, and so one sync, covers all calls that arrive together. */
export class ServedDatabase {
  private opened: Opened | undefined

  constructor(
    private readonly path: string,
    private readonly tables: ServedTables,
  ) {}

  /** Opens the database, and reopens it when its file was replaced. */
  open(): Opened {
    const { path, tables, opened } = this
    const identity = identityOf(path)
    if (opened !== undefined && opened.identity === identity) return opened
    if (opened !== undefined && tables.isOnly)
      throw new Unusable('its file is gone, or another file replaced it: put it back before you restart')
    this.close()
    const database = openFile(path, tables)
    const { reads, writes } = tables.prepare(database)
    // The keys are the names of the calls; the calling thread has the types.
    this.opened = { database, identity: identityOf(path), reads: reads as Calls, writes: writes as Calls }
    return this.opened
  }

  close(): void {
    this.opened?.database.close()
    this.opened = undefined
  }

  /** Answers reads first: they never wait for the sync of a write. */
  run(requests: readonly Request[], answer: (id: number, outcome: Outcome) => void): void {
    const opened = outcomeOf(() => this.open())
    if ('error' in opened) {
      for (const { id } of requests) answer(id, opened)
      return
    }
    const { reads } = opened.result
    const isRead = ({ name }: Request): boolean => Object.hasOwn(reads, name)
    for (const request of requests.filter(isRead))
      answer(
        request.id,
        outcomeOf(() => called(reads, request)),
      )
    const writes = requests.filter((request) => !isRead(request))
    if (writes.length === 0) return
    const committed = outcomeOf(() => this.committed(writes))
    for (const [at, { id }] of writes.entries())
      answer(id, 'error' in committed ? committed : (committed.result[at] ?? UNANSWERED))
  }

  private committed(requests: readonly Request[]): readonly Outcome[] {
    try {
      return this.commit(requests)
    } catch (error) {
      if (resultCode(error) !== FULL) throw error
      // The log itself may fill the disk.
      this.open().database.exec('pragma wal_checkpoint(truncate)')
      return this.commit(requests)
    }
  }

  private commit(requests: readonly Request[]): readonly Outcome[] {
    const { database, writes, identity } = this.open()
    try {
      database.exec('begin immediate')
      const outcomes = requests.map((request) =>
        outcomeOf(() => inSavepoint(database, () => called(writes, request))),
      )
      // SQLite itself rolls back everything when the disk fails.
      const failed = outcomes.find((outcome) => 'error' in outcome)
      if (!database.isTransaction && failed !== undefined && 'error' in failed) throw failed.error
      database.exec('commit')
      // Writes to a deleted file are lost when this process ends.
      return identityOf(this.path) === identity ? outcomes : this.commit(requests)
    } catch (error) {
      if (database.isOpen && database.isTransaction) database.exec('rollback')
      throw error
    }
  }
}

const called = (calls: Calls, { name, args }: Request): unknown => calls[name]?.(...(args as never[]))

function inSavepoint<T>(database: DatabaseSync, work: () => T): T {
  // After a disk failure ended the transaction, this call would be a transaction of its own.
  if (!database.isTransaction) throw new Error('the transaction was rolled back')
  database.exec('savepoint one')
  try {
    const result = work()
    database.exec('release one')
    return result
  } catch (error) {
    if (database.isTransaction) database.exec('rollback to one; release one')
    throw error
  }
}

function outcomeOf<T>(work: () => T): Outcome<T> {
  try {
    return { result: work() }
  } catch (error) {
    return { error }
  }
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev} ${found.ino}`
}

/** Returns the statement for an SQL text, prepared once. */
export type Statements = (sql: string) => StatementSync

export function statementsOf(database: DatabaseSync): Statements {
  const prepared = new Map<string, StatementSync>()
  return (sql) => {
    const statement = prepared.get(sql) ?? database.prepare(sql)
    prepared.set(sql, statement)
    return statement
  }
}
