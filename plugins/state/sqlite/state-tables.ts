import type { DatabaseSync } from 'node:sqlite'
import type { ServedTables } from '#plugins/store/sqlite/served-database.js'

/** A value as it is stored. */
export interface Row {
  /** Of this write of the key: no other has the same. */
  readonly id: number
  readonly value: string
  readonly sealed: boolean
}

/** How many values that have expired each write deletes. */
const SWEPT = 100

/** The values of a user. Keys are bytes, since a text of SQLite loses half surrogates. */
export const stateTables = {
  application: 0x53706f31,
  level: 1,
  synchronous: 'full',
  isOnly: false,
  schema: `
    create table value (
      id integer primary key autoincrement,
      key blob not null unique,
      value blob not null,
      sealed integer not null,
      expires_at real
    ) strict;
    create index value_expires_at on value (expires_at) where expires_at is not null;
  `,
  prepare,
} as const satisfies ServedTables

function prepare(database: DatabaseSync) {
  const found = database.prepare(
    'select id, value, sealed from value where key = ? and (expires_at is null or expires_at > ?)',
  )
  const all = database.prepare(
    'select key from value where sealed <= ? and (expires_at is null or expires_at > ?)',
  )
  const anySealed = database.prepare('select 1 from value where sealed = 1 limit 1')
  const replace = database.prepare(
    'insert or replace into value (key, value, sealed, expires_at) values (?, ?, ?, ?)',
  )
  const seal = database.prepare('update value set value = ?, sealed = 1 where id = ?')
  const remove = database.prepare('delete from value where key = ?')
  const removeWrite = database.prepare('delete from value where id = ?')
  const sweep = database.prepare(
    `delete from value where id in (select id from value where expires_at <= ? limit ${SWEPT})`,
  )
  const keysOf = (mostSealed: number): Uint8Array[] =>
    all.all(mostSealed, Date.now()).map(({ key }) => key as Uint8Array)

  return {
    reads: {
      get(key: Uint8Array): Row | undefined {
        const row = found.get(key, Date.now())
        return row && { id: row['id'] as number, value: textOf(row['value']), sealed: row['sealed'] === 1 }
      },
      keys: (): Uint8Array[] => keysOf(1),
      plainKeys: (): Uint8Array[] => keysOf(0),
      hasSealed: (): boolean => anySealed.get() !== undefined,
    },
    writes: {
      set(key: Uint8Array, value: string, sealed: boolean, expiresAt: number | undefined): void {
        replace.run(key, Buffer.from(value), sealed ? 1 : 0, expiresAt ?? null)
        sweep.run(Date.now())
      },
      /** Encrypts what was written with this id, unless it was replaced. */
      seal: (id: number, value: string): void => void seal.run(Buffer.from(value), id),
      delete: (key: Uint8Array): void => void remove.run(key),
      /** Whether it was there. */
      take: (id: number): boolean => removeWrite.run(id).changes === 1,
      /** Fails while nothing can be written. */
      probe: (): void => database.exec('pragma user_version = 1'),
    },
  }
}

const textOf = (bytes: unknown): string => Buffer.from(bytes as Uint8Array).toString()
