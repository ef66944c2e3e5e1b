import type { ContentsChange, StoredDocument, VersionKey } from 'sallyport'
import type { Statements } from '../database/database.js'
import { bytesOf } from '../text-bytes.js'
import { batches } from './batches.js'
import {
  ensureSource,
  raiseRevision,
  revisionAfter,
  type SourceKey,
  type SourceRow,
  toColumn,
} from './source-row.js'

/**
 * Stores a change, and returns its revision. `base` is the revision that the change is to: where the database has another,
 * because it was restored or emptied, everything is written.
 */
export async function writeContents(
  statements: Statements,
  key: SourceKey,
  base: number,
  { changed, removed, all, bookmark }: ContentsChange,
): Promise<number> {
  const row = await ensureSource(statements, key)
  const next = revisionAfter(row.revision)
  const isChange = base !== 0 && row.revision === base
  for (const batch of batches(isChange ? changed : all, sizeOf)) await put(statements, row, next, batch)
  if (isChange) for (const batch of batches(removed, () => 0)) await bury(statements, row, next, batch)
  else await buryOthers(statements, row, next)
  await raiseRevision(statements, row, next)
  await statements.query('update source_state set bookmark = $2, failure = null where id = $1', [
    row.id,
    toColumn(bookmark),
  ])
  await purge(statements, row)
  return next
}

async function put(
  statements: Statements,
  { id }: SourceRow,
  revision: number,
  documents: readonly StoredDocument[],
): Promise<void> {
  await statements.query(
    `insert into version (source, revision, name, version, document)
     select $1, $2, * from unnest($3::bytea[], $4::bytea[], $5::bytea[])
     on conflict (source, sha256(name), sha256(version))
     do update set revision = excluded.revision, document = excluded.document`,
    [id, revision, ...keysOf(documents), documents.map(({ parts }) => Buffer.concat(parts))],
  )
}

/** Leaves tombstones, by which others learn that versions are gone. */
async function bury(
  statements: Statements,
  { id }: SourceRow,
  revision: number,
  keys: readonly VersionKey[],
): Promise<void> {
  await statements.query(
    `update version set revision = $2, document = null
     where source = $1 and document is not null and (sha256(name), sha256(version)) in
       (select sha256(n), sha256(v) from unnest($3::bytea[], $4::bytea[]) as gone (n, v))`,
    [id, revision, ...keysOf(keys)],
  )
}

/** Those that were not written with this revision. */
async function buryOthers(statements: Statements, { id }: SourceRow, revision: number): Promise<void> {
  await statements.query(
    `update version set revision = $2, document = null
     where source = $1 and revision < $2 and document is not null`,
    [id, revision],
  )
}

const keysOf = (keys: readonly VersionKey[]): [Buffer[], Buffer[]] => [
  keys.map(({ name }) => bytesOf(name)),
  keys.map(({ version }) => bytesOf(version)),
]

/** Forgets old revisions, and the tombstones that only these needed. */
async function purge(statements: Statements, { id }: SourceRow): Promise<void> {
  const forgotten = await statements.query(
    `delete from source_revision where source = $1 and written_at < now() - interval '7 days' returning revision`,
    [id],
  )
  if (forgotten.length === 0) return
  await statements.query(
    `delete from version where source = $1 and document is null
     and revision <= (select min(revision) from source_revision where source = $1)`,
    [id],
  )
}

const sizeOf = ({ parts }: StoredDocument): number => parts.reduce((sum, { length }) => sum + length, 0)
