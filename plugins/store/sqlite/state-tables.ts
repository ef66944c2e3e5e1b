import type { DatabaseSync } from 'node:sqlite'
import { type ServedTables, statementsOf } from './served-database.js'

/** A value as it is stored. */
export interface Row {
  /** A unique ID of this write of the key. */
  readonly id: number
  readonly value: string
  readonly sealed: boolean
}

/** How many expired values each write deletes. */
const SWEPT = 100

const LEVEL = 1

/** The values of a user. Keys are bytes, since SQLite's text loses half surrogates. */
export const stateTables = {
  application: 0x53706f31,
  level: LEVEL,
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
  const sql = statementsOf(database)
  const keysOf = (mostSealed: number): Uint8Array[] =>
    sql(`select key from value where sealed <= ? and ${LASTS}`)
      .all(mostSealed, Date.now())
      .map(({ key }) => key as Uint8Array)

  const reads = {
    get(key: Uint8Array): Row | undefined {
      const row = sql(`select id, value, sealed from value where key = ? and ${LASTS}`).get(key, Date.now())
      const text = Buffer.from((row?.['value'] ?? '') as Uint8Array).toString()
      return row && { id: Number(row['id']), value: text, sealed: row['sealed'] === 1 }
    },
    keys: (): Uint8Array[] => keysOf(1),
    plainKeys: (): Uint8Array[] => keysOf(0),
    hasSealed: (): boolean => sql('select 1 from value where sealed = 1 limit 1').get() !== undefined,
  }
  const writes = {
    set(key: Uint8Array, value: string, sealed: boolean, expiresAt: number | undefined): void {
      const replace = 'insert or replace into value (key, value, sealed, expires_at) values (?, ?, ?, ?)'
      sql(replace).run(key, Buffer.from(value), sealed ? 1 : 0, expiresAt ?? null)
      sql(SWEEP).run(Date.now())
    },
    /** Replaces the value of the write with this id by its encrypted form, unless a later write replaced it. */
    seal: (id: number, value: string): void =>
      void sql('update value set value = ?, sealed = 1 where id = ?').run(Buffer.from(value), id),
    delete: (key: Uint8Array): void => void sql('delete from value where key = ?').run(key),
    /** Returns whether the key existed. */
    take: (id: number): boolean => sql('delete from value where id = ?').run(id).changes === 1,
    /** Throws while the database cannot be written. */
    probe: (): void => void sql(`pragma user_version = ${LEVEL}`).run(),
  }
  return { reads, writes }
}

const LASTS = '(expires_at is null or expires_at > ?)'
const SWEEP = `delete from value where id in (select id from value where expires_at <= ? limit ${SWEPT})`
