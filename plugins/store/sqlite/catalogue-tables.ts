import type { DatabaseSync } from 'node:sqlite'
import type { ServedTables } from './served-database.js'
import { statementsOf } from './statements.js'

/** A source by its name and place, as bytes: a text of SQLite loses half surrogates. */
export type SourceKey = readonly [name: Uint8Array, place: Uint8Array]

export interface CatalogueDocument {
  readonly name: Uint8Array
  readonly version: Uint8Array
  readonly document: Uint8Array
}

/** What a write leaves, of what was added to it before. */
export interface CatalogueWrite {
  /** Nothing of before stays. */
  readonly replaces: boolean
  readonly removed: readonly Omit<CatalogueDocument, 'document'>[]
  readonly bookmark: string | undefined
  readonly revision: number
}

/** About how many bytes of documents come in one payload. */
const PAYLOAD = 1024 * 1024

/** The last good state of each source. It is a copy: a power failure may cost the last write. */
export const catalogueTables = {
  application: 0x53706f32,
  level: 1,
  synchronous: 'normal',
  isOnly: false,
  schema: `
    create table source (
      id integer primary key,
      name blob not null,
      place blob not null,
      revision integer not null default 0,
      bookmark blob,
      unique (name, place)
    ) strict;
    create table document (
      id integer primary key,
      source integer not null references source,
      name blob not null,
      version blob not null,
      document blob not null,
      unique (source, name, version)
    ) strict;
  `,
  prepare,
} as const satisfies ServedTables

function prepare(database: DatabaseSync) {
  const sql = statementsOf(database)
  /** Documents of writes that are not complete. */
  const added = new Map<string, CatalogueDocument[]>()
  const find = (key: SourceKey) =>
    sql('select id, revision, bookmark from source where name = ? and place = ?').get(...key)
  const reads = {
    /** `undefined` when nothing was stored. */
    read(key: SourceKey) {
      const row = find(key)
      if (row === undefined) return undefined
      const { id, revision, bookmark } = row
      const documents = sql('select document from document where source = ? order by id').iterate(Number(id))
      return {
        revision: Number(revision),
        bookmark: bookmark === null ? undefined : Buffer.from(bookmark as Uint8Array).toString(),
        payloads: [...listsOf(documents)],
      }
    },
    /** Documents of the write of this name. */
    add: (write: string, more: readonly CatalogueDocument[]): void =>
      void added.set(write, [...(added.get(write) ?? []), ...more]),
    discard: (write: string): void => void added.delete(write),
  }
  const writes = {
    write(write: string, key: SourceKey, { replaces, removed, bookmark, revision }: CatalogueWrite): void {
      const add = 'insert into source (name, place) values (?, ?) returning id'
      const id = Number((find(key) ?? sql(add).get(...key))?.['id'])
      if (replaces) sql('delete from document where source = ?').run(id)
      for (const { name, version } of removed)
        sql('delete from document where source = ? and name = ? and version = ?').run(id, name, version)
      for (const { name, version, document } of added.get(write) ?? [])
        sql(PUT).run(id, name, version, document)
      const mark = bookmark === undefined ? null : Buffer.from(bookmark)
      sql('update source set revision = ?, bookmark = ? where id = ?').run(revision, mark, id)
    },
  }
  return { reads, writes }
}

const PUT = `insert into document (source, name, version, document) values (?, ?, ?, ?)
  on conflict (source, name, version) do update set document = excluded.document`

/** Lists of documents in JSON. */
function* listsOf(rows: Iterable<Record<string, unknown>>): Generator<Uint8Array> {
  let parts: Uint8Array[] = []
  let size = 0
  for (const { document } of rows) {
    parts.push(parts.length === 0 ? OPEN : COMMA, document as Uint8Array)
    size += (document as Uint8Array).length
    if (size < PAYLOAD) continue
    yield Buffer.concat([...parts, CLOSE])
    parts = []
    size = 0
  }
  if (parts.length > 0) yield Buffer.concat([...parts, CLOSE])
}

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')
