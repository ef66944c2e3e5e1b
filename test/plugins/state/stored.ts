import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { bytesOf } from '#plugins/store/bytes.js'

export interface StoredValue {
  readonly key: string
  readonly value: string
  readonly sealed: number
}

export const pathIn = (directory: string): string => join(directory, 'state.sqlite')

/** Runs SQL on the database of `state/sqlite`, as another program would. */
export function sql(directory: string, text: string, ...values: readonly SQLInputValue[]): StoredValue[] {
  const database = new DatabaseSync(pathIn(directory))
  try {
    // SQLite does not know the columns of what the caller asks for.
    return database.prepare(text).all(...values) as unknown as StoredValue[]
  } finally {
    database.close()
  }
}

/** Every value as it is stored. */
export const valuesIn = (directory: string): readonly StoredValue[] =>
  sql(
    directory,
    'select cast(key as text) as key, cast(value as text) as value, sealed from value order by key',
  )

export const textIn = (directory: string): string => JSON.stringify(valuesIn(directory))

/** Stores a value as somebody does who can write the file, and has no key. */
export const plant = (directory: string, key: string, value: string, sealed: number): void =>
  void sql(
    directory,
    'insert or replace into value (key, value, sealed) values (cast(? as blob), cast(? as blob), ?)',
    ...[bytesOf(key), sealed === 0 ? bytesOf(value) : value, sealed],
  )
