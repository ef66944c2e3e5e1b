import type { DatabaseSync } from 'node:sqlite'
import type { ServedTables } from './served-database.js'

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
  const find = database.prepare('select id, revision, bookmark from source where name = ? and place = ?')
  const add = database.prepare('insert into source (name, place) values (?, ?) returning id')
  const update = database.prepare('update source set revision = ?, bookmark = ? where id = ?')
  const clear = database.prepare('delete from document where source = ?')
  const put = database.prepare(
    `insert into document (source, name, version, document) values (?, ?, ?, ?)
     on conflict (source, name, version) do update set document = excluded.document`,
  )
  const remove = database.prepare('delete from document where source = ? and name = ? and version = ?')
  const documents = database.prepare('select document from document where source = ? order by id')
  /** Documents of writes that are not complete. */
  const added = new Map<number, CatalogueDocument[]>()

  return {
    reads: {
      /** `undefined` when nothing was stored. */
      read(key: SourceKey) {
        const row = find.get(...key)
        if (row === undefined) return undefined
        const bookmark = row['bookmark'] as Uint8Array | null
        return {
          revision: row['revision'] as number,
          bookmark: bookmark === null ? undefined : Buffer.from(bookmark).toString(),
          payloads: [...listsOf(documents.iterate(row['id'] as number))],
        }
      },
      /** Documents of the write of this number. */
      add: (write: number, more: readonly CatalogueDocument[]): void =>
        void added.set(write, [...(added.get(write) ?? []), ...more]),
      discard: (write: number): void => void added.delete(write),
    },
    writes: {
      write(write: number, key: SourceKey, { replaces, removed, bookmark, revision }: CatalogueWrite): void {
        const id = (find.get(...key) ?? add.get(...key))?.['id'] as number
        if (replaces) clear.run(id)
        for (const { name, version } of removed) remove.run(id, name, version)
        for (const { name, version, document } of added.get(write) ?? []) put.run(id, name, version, document)
        update.run(revision, bookmark === undefined ? null : Buffer.from(bookmark), id)
      },
    },
  }
}

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
