import type { DatabaseSync } from 'node:sqlite'
import { listOf } from '../bytes.js'
import { type ServedTables, statementsOf } from './served-database.js'

/** A source by its name and location, as bytes: SQLite's text loses half surrogates. */
export type SourceKey = readonly [name: Uint8Array, location: Uint8Array]

/** The end of a write, after its documents were added: which earlier contents go, and the new bookmark. */
export interface CatalogueWrite {
  /** Whether the write replaces all earlier contents. */
  readonly replaces: boolean
  readonly removed: readonly { readonly name: Uint8Array; readonly version: Uint8Array }[]
  readonly bookmark: string | undefined
  readonly revision: number
}

/** About how many bytes of documents one payload has. */
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
    -- Documents of writes that are not complete: a process that is killed leaves some.
    create table added (
      id integer primary key,
      write text not null,
      since integer not null default (unixepoch()),
      name blob not null,
      version blob not null,
      document blob not null
    ) strict;
    create index added_of on added (write);
  `,
  prepare,
} as const satisfies ServedTables

function prepare(database: DatabaseSync) {
  const sql = statementsOf(database)
  const find = (key: SourceKey) =>
    sql('select id, revision, bookmark from source where name = ? and place = ?').get(...key)
  const reads = {
    /** Returns undefined when nothing was stored. */
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
  }
  const writes = {
    /**
     * Adds documents to a named write: the bytes of name, version, document, name and so on, and the length of each.
     */
    add(write: string, bytes: ArrayBuffer, lengths: readonly number[]): void {
      const add = sql('insert into added (write, name, version, document) values (?, ?, ?, ?)')
      let end = 0
      const next = (length = 0): Uint8Array => {
        end += length
        return new Uint8Array(bytes, end - length, length)
      }
      for (let at = 0; at < lengths.length; at += 3)
        add.run(write, next(lengths[at]), next(lengths[at + 1]), next(lengths[at + 2]))
    },
    discard: (write: string): void => void sql('delete from added where write = ?').run(write),
    write(write: string, key: SourceKey, { replaces, removed, bookmark, revision }: CatalogueWrite): void {
      const add = 'insert into source (name, place) values (?, ?) returning id'
      const id = Number((find(key) ?? sql(add).get(...key))?.['id'])
      if (replaces) sql('delete from document where source = ?').run(id)
      for (const { name, version } of removed)
        sql('delete from document where source = ? and name = ? and version = ?').run(id, name, version)
      sql(PUT).run(id, write)
      sql('delete from added where write = ? or since < unixepoch() - ?').run(write, LONGEST)
      const mark = bookmark === undefined ? null : Buffer.from(bookmark)
      sql('update source set revision = ?, bookmark = ? where id = ?').run(revision, mark, id)
    },
  }
  return { reads, writes }
}

/** Seconds: longer than any write takes. */
const LONGEST = 24 * 60 * 60

// `where` keeps `on conflict` from being read as a join.
const PUT = `insert into document (source, name, version, document)
  select ?, name, version, document from added where write = ? order by id
  on conflict (source, name, version) do update set document = excluded.document`

/** Lists of documents in JSON. */
function* listsOf(rows: Iterable<Record<string, unknown>>): Generator<Uint8Array> {
  let documents: Uint8Array[] = []
  let size = 0
  for (const { document } of rows) {
    documents.push(document as Uint8Array)
    size += (document as Uint8Array).length
    if (size < PAYLOAD) continue
    yield listOf(documents)
    documents = []
    size = 0
  }
  if (documents.length > 0) yield listOf(documents)
}
