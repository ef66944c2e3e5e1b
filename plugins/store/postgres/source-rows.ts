import type { ContentsChange, StoredContents, StoredDocument, VersionKey } from 'sallyport'
import { bytesOf, listOf, textOf } from '../bytes.js'
import type { Statements } from '../database/database.js'
import { payloadsOf } from './open-contents.js'

/** The key of a source's rows. Processes with another configuration use the rows of other locations, side by side. */
export interface SourceKey {
  readonly name: string
  readonly location: string
}

/** The stored state of a source, without its versions. */
interface SourceRow {
  readonly id: number
  /** 0 until the first write. */
  readonly revision: number
  readonly bookmark: string | undefined
  readonly failure: string | undefined
}

/** The condition for one source, whose parameters are those of `keyValues`. */
const IS_SOURCE = 'sha256(source) = sha256($1) and sha256(place) = sha256($2)'

const keyValues = ({ name, location }: SourceKey): [Buffer, Buffer] => [bytesOf(name), bytesOf(location)]

async function findSource(statements: Statements, key: SourceKey): Promise<SourceRow | undefined> {
  const [row] = await statements.query<{
    id: number
    revision: number
    bookmark: Buffer | null
    failure: Buffer | null
  }>(`select id, revision, bookmark, failure from source_state where ${IS_SOURCE}`, keyValues(key))
  return row && { ...row, bookmark: fromColumn(row.bookmark), failure: fromColumn(row.failure) }
}

async function ensureSource(statements: Statements, key: SourceKey): Promise<SourceRow> {
  const found = await findSource(statements, key)
  if (found !== undefined) return found
  await statements.query(
    'insert into source_state (source, place) values ($1, $2) on conflict do nothing',
    keyValues(key),
  )
  return ensureSource(statements, key)
}

/**
 * A revision is a time in milliseconds: a database restored from a backup gives none a second time. The transaction
 * that writes the rows also updates the revision, so a reader that sees it sees all of its rows; a sequence would also
 * cover rows that are committed later.
 */
async function raiseRevision(
  statements: Statements,
  { id, revision }: SourceRow,
  next: number,
): Promise<void> {
  const raised = await statements.query(
    'update source_state set revision = $3, checked_at = now() where id = $1 and revision = $2 returning id',
    [id, revision, next],
  )
  if (raised.length === 0) throw new Error('another process wrote this source at the same time')
  await statements.query('insert into source_revision (source, revision) values ($1, $2)', [id, next])
}

const revisionAfter = (revision: number): number => Math.max(revision + 1, Date.now())

const toColumn = (value: string | undefined): Buffer | null => (value === undefined ? null : bytesOf(value))

const fromColumn = (bytes: Buffer | null): string | undefined => (bytes === null ? undefined : textOf(bytes))

/**
 * Stores the result of a sync that changed nothing. A new failure gets a revision of its own, so that all processes
 * read it. Returns the revision of a process that had `base`.
 */
export async function reportSync(
  statements: Statements,
  key: SourceKey,
  base: number,
  failure: string | undefined,
): Promise<number> {
  const row = await ensureSource(statements, key)
  await statements.query('update source_state set failure = $2, checked_at = now() where id = $1', [
    row.id,
    toColumn(failure),
  ])
  if (row.revision === 0 || row.failure === failure) return base
  const next = revisionAfter(row.revision)
  await raiseRevision(statements, row, next)
  return base === row.revision ? next : base
}

/** Stores the request for a sync, for a leader that missed the notification, or begins later. */
export async function requestSync(statements: Statements, key: SourceKey): Promise<void> {
  const { id } = await ensureSource(statements, key)
  await statements.query('update source_state set sync_requested_at = now() where id = $1', [id])
}

/** Whether any process has requested a sync since the last call. */
export async function takeSyncRequest(statements: Statements, key: SourceKey): Promise<boolean> {
  const taken = await statements.query(
    `update source_state set sync_requested_at = null where ${IS_SOURCE} and sync_requested_at is not null returning id`,
    keyValues(key),
  )
  return taken.length > 0
}

/** Keeps the rows of this location of the source, and deletes rows of other locations that are no longer in use. */
export async function keepPlace(statements: Statements, key: SourceKey): Promise<void> {
  await statements.query(
    `update source_state set used_at = now() where ${IS_SOURCE} and used_at < now() - interval '1 day'`,
    keyValues(key),
  )
  await statements.query(
    `delete from source_state where sha256(source) = sha256($1) and sha256(place) <> sha256($2)
     and used_at < now() - interval '30 days'`,
    keyValues(key),
  )
}

// After somebody emptied the database, processes keep serving their contents: the leader writes them anew.
const EMPTIED: StoredContents = {
  kind: 'changes',
  payloads: [],
  removed: [],
  revision: 0,
  bookmark: undefined,
}

interface DocumentColumn {
  readonly document: Buffer
}

/** The stored contents, or the changes since a revision. Reads the payloads within the transaction. */
export async function readContents(
  statements: Statements,
  key: SourceKey,
  since: number | undefined,
): Promise<StoredContents | undefined> {
  const row = await findSource(statements, key)
  const { revision = 0, bookmark, failure } = row ?? {}
  if (revision === (since ?? 0)) return undefined
  if (row === undefined || revision === 0) return EMPTIED
  const known = since !== undefined && (await isKnown(statements, row, since)) ? since : undefined
  const payloads = await payloadsOf<DocumentColumn>(
    statements,
    'select document from version where source = $1 and revision > $2 and document is not null',
    [row.id, known ?? 0],
    (rows) => (rows.length === 0 ? [] : [listOf(rows.map(({ document }) => document))]),
  )
  const removed = known === undefined ? [] : await removedSince(statements, row, known)
  const contents = { payloads, handedOver: true, revision, bookmark, failure }
  return known === undefined ? { kind: 'whole', ...contents } : { kind: 'changes', ...contents, removed }
}

/**
 * Whether all changes after a revision are still stored. False when tombstones were purged since, or when the revision
 * is from before the restore of a backup.
 */
async function isKnown(statements: Statements, { id }: SourceRow, revision: number): Promise<boolean> {
  const rows = await statements.query('select 1 from source_revision where source = $1 and revision = $2', [
    id,
    revision,
  ])
  return rows.length > 0
}

async function removedSince(
  statements: Statements,
  { id }: SourceRow,
  revision: number,
): Promise<VersionKey[]> {
  const rows = await statements.query<{ name: Buffer; version: Buffer }>(
    'select name, version from version where source = $1 and revision > $2 and document is null',
    [id, revision],
  )
  return rows.map(({ name, version }) => ({ name: textOf(name), version: textOf(version) }))
}

/**
 * Stores a change, and returns its revision. `base` is the revision before the change: when the database has another,
 * because it was restored or emptied, writes everything.
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
    [id, revision, ...keysOf(documents), documents.map(({ document }) => document)],
  )
}

/** Leaves tombstones, which show other processes that versions are gone. */
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

/** The versions that were not written with this revision. */
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

/** Deletes old revisions, and the tombstones that only they needed. */
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

const sizeOf = ({ document }: StoredDocument): number => document.length

// The driver encodes a batch at once, and requests wait meanwhile.
const BATCH_BYTES = 128 * 1024
const BATCH_ROWS = 1_000

/** The rows that one statement writes. */
export function* batches<T>(items: Iterable<T>, size: (item: T) => number): Generator<T[]> {
  let batch: T[] = []
  let bytes = 0
  for (const item of items) {
    batch.push(item)
    bytes += size(item)
    if (bytes < BATCH_BYTES && batch.length < BATCH_ROWS) continue
    yield batch
    batch = []
    bytes = 0
  }
  if (batch.length > 0) yield batch
}
