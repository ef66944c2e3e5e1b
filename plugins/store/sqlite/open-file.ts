import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { damaged, resultCode, Unusable } from './failure.js'

/** The tables of one kind of database. */
export interface Tables {
  /** The SQLite application ID, which distinguishes the kinds of databases. */
  readonly application: number
  /** Rises with each change of the tables. */
  readonly level: number
  readonly schema: string
  /** `normal`: a power failure may cost the last writes. */
  readonly synchronous: 'full' | 'normal'
  /** Whether the contents exist nowhere else: a start then never creates a new database instead of a lost one. */
  readonly isOnly: boolean
}

// Milliseconds to wait for other processes, whose transactions are short.
const BUSY_LIMIT = 10_000
const BUSY = 5

/** Opens a database for this user alone, and creates it where there is none. */
export function openFile(path: string, tables: Tables): DatabaseSync {
  prepareFolder(dirname(path))
  if (tables.isOnly) refuseGone(path)
  createFile(path)
  const database = connect(path, BUSY_LIMIT)
  try {
    // SQLite does not wait for processes that turn on the log at the same moment.
    whileBusy(() => database.exec('pragma journal_mode = wal'))
    database.exec(`pragma synchronous = ${tables.synchronous}`)
    whileBusy(() => prepareTables(database, tables))
    const { quick_check } = database.prepare('pragma quick_check(1)').get() ?? {}
    if (quick_check !== 'ok') throw damaged()
    if (tables.isOnly) writeFileSync(marker(path), MARKED, { mode: 0o600 })
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Opens an existing file. As a URL, since SQLite would create a missing one with the default rights of the process. */
export function connect(path: string, timeout: number): DatabaseSync {
  const url = pathToFileURL(path)
  url.search = 'mode=rw'
  return new DatabaseSync(url, { timeout })
}

function prepareFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  accessSync(folder, constants.W_OK)
  restrict(folder, statSync(folder).mode, 0o700)
}

/**
 * Creates an empty file unless one exists. It never opens an existing file: closing it would release all locks that
 * this process holds on it.
 */
export function createFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    // A lock file is gone again when another process has just released it.
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found?.isFile() === false) throw new Unusable('it is no file, but a folder or a link: move it away')
    if (found !== undefined) restrict(path, found.mode, 0o600)
  }
}

/** Takes the rights of others away. */
function restrict(path: string, mode: number, to: number): void {
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) chmodSync(path, to)
}

function prepareTables(database: DatabaseSync, { application, level, schema }: Tables): void {
  if (numberOf(database, 'user_version') === 0) create(database, { application, level, schema })
  if (numberOf(database, 'application_id') !== application) throw foreign()
  const found = numberOf(database, 'user_version')
  if (found > level)
    throw new Unusable(
      `a newer version wrote it (level ${found}, and this one knows ${level}): use that version, or move it away to begin anew`,
    )
}

function create(
  database: DatabaseSync,
  { application, level, schema }: Pick<Tables, 'application' | 'level' | 'schema'>,
): void {
  database.exec('begin immediate')
  try {
    // Another process may have created the tables first.
    if (numberOf(database, 'user_version') === 0) {
      if (database.prepare('select 1 from sqlite_schema').get() !== undefined) throw foreign()
      database.exec(`${schema}; pragma application_id = ${application}; pragma user_version = ${level}`)
    }
    database.exec('commit')
  } catch (error) {
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}

const numberOf = (database: DatabaseSync, pragma: string): number =>
  Number(database.prepare(`pragma ${pragma}`).get()?.[pragma])

const foreign = (): Unusable =>
  new Unusable('it is the database of something else: move it away, or give another directory')

/** Blocks the thread, which must be one that may wait. */
function whileBusy(work: () => void): void {
  const end = performance.now() + BUSY_LIMIT
  for (;;) {
    try {
      work()
      return
    } catch (error) {
      if (resultCode(error) !== BUSY || performance.now() > end) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5 + Math.random() * 20)
    }
  }
}

const marker = (path: string): string => `${path}.created`

const MARKED =
  'There is a database beside this file. Without it, the start is refused while this file is there.\n'

/** Opening a missing database would create an empty one, and delete the log that is left of the earlier one. */
function refuseGone(path: string): void {
  const isThere = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0
  if (isThere || statSync(marker(path), { throwIfNoEntry: false }) === undefined) return
  throw new Unusable(
    `it is gone or empty, and ${marker(path)} says that there was one: put it back, or restore it from a backup; where it is meant to begin anew, remove that file too`,
  )
}
