import type { PublicationActor, PublicationEvent, StoredContents, VersionKey } from 'sallyport'
import { bytesOf } from '../bytes.js'
import type { Statements } from '../database/database.js'
import { ACTIVE, identified, type PublishedVersion, withState } from '../publications/events.js'
import { payloadOf } from '../publications/publication.js'
import { payloadsOf } from './open-contents.js'

/** A source to which people publish. Each writer locks its row. */
export interface PublishedSource {
  readonly id: number
  readonly revision: number
  /** The revision of the last purge: a process with an earlier one reads the whole. */
  readonly purged: number
  readonly at: string
  /** The ID of the writing request, which identifies its events. */
  readonly requestId: Buffer
}

interface SourceColumns {
  readonly id: number
  readonly revision: number
  readonly purged: number
  readonly changed_at: Date
}

const sourceOf = ({ id, revision, purged, changed_at }: SourceColumns) => ({
  ...{ id, revision, purged: Number(purged) },
  at: changed_at.toISOString(),
})

/** The current source; undefined before the first publication. */
async function findPublished(
  statements: Statements,
  source: string,
): Promise<Omit<PublishedSource, 'requestId'> | undefined> {
  const [row] = await statements.query<SourceColumns>(
    'select id, revision, purged, changed_at from published_source where sha256(source) = sha256($1)',
    [bytesOf(source)],
  )
  return row && sourceOf(row)
}

/**
 * Locks the source until the end of the transaction, and gives it a new revision and time. A revision is a time in
 * milliseconds, so that a database restored from a backup gives none a second time.
 */
export async function nextRevision(
  statements: Statements,
  source: string,
  requestId: Buffer,
): Promise<PublishedSource> {
  const [row] = await statements.query<SourceColumns>(
    `update published_source set
       revision = greatest(revision + 1, (extract(epoch from clock_timestamp()) * 1000)::bigint),
       changed_at = greatest(changed_at, date_trunc('milliseconds', clock_timestamp()))
     where sha256(source) = sha256($1) returning id, revision, purged, changed_at`,
    [bytesOf(source)],
  )
  if (row !== undefined) return { ...sourceOf(row), requestId }
  await statements.query('insert into published_source (source) values ($1) on conflict do nothing', [
    bytesOf(source),
  ])
  return nextRevision(statements, source, requestId)
}

/** Returns `false` when the version exists already. */
export async function insertVersion(
  statements: Statements,
  { id, revision, at }: PublishedSource,
  { name, version, server }: VersionKey & { readonly server: Uint8Array },
  actor: PublicationActor,
): Promise<boolean> {
  const dates = { publishedAt: at, updatedAt: at, statusChangedAt: at }
  const facts: PublishedVersion = { name, version, state: ACTIVE, ...dates }
  const inserted = await statements.query(
    `insert into published_version (source, revision, name, version, facts, actor, server)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing returning 1`,
    [id, revision, bytesOf(name), bytesOf(version), jsonBytes(facts), actorBytes(actor), server],
  )
  return inserted.length > 0
}

export async function countVersions(
  statements: Statements,
  { id }: PublishedSource,
  name: string,
): Promise<number> {
  const [row] = await statements.query<{ count: number }>(
    'select count(*) from published_version where source = $1 and sha256(name) = sha256($2)',
    [id, bytesOf(name)],
  )
  return row?.count ?? 0
}

/** One version, or all versions of a name in the order of their publication, without purged ones. */
export async function findVersions(
  statements: Statements,
  { id }: PublishedSource,
  { name, version }: { readonly name: string; readonly version?: string | undefined },
): Promise<readonly PublishedVersion[]> {
  const rows = await statements.query<{ facts: Buffer }>(
    `select facts from published_version
     where source = $1 and sha256(name) = sha256($2) and server is not null and ($3::bytea is null or sha256(version) = sha256($3))
     order by id`,
    [id, bytesOf(name), version === undefined ? null : bytesOf(version)],
  )
  return rows.map(({ facts }) => jsonIn(facts))
}

/** Gives versions of one name the state of an event. */
export async function updateStates(
  statements: Statements,
  { id, revision }: PublishedSource,
  versions: readonly PublishedVersion[],
  { name, after, at }: PublicationEvent,
): Promise<void> {
  const keys = versions.map(({ version }) => bytesOf(version))
  const facts = versions.map((version) => jsonBytes(withState(version, after, at)))
  await statements.query(
    `update published_version set revision = $2, facts = changed.facts
     from unnest($4::bytea[], $5::bytea[]) as changed (key, facts)
     where source = $1 and sha256(name) = sha256($3) and sha256(version) = sha256(changed.key)`,
    [id, revision, bytesOf(name), keys, facts],
  )
}

export async function findPublisher(
  statements: Statements,
  source: string,
  { name, version }: VersionKey,
): Promise<PublicationActor | undefined> {
  const [row] = await statements.query<{ actor: Buffer }>(
    `select actor from published_version
     where source = (select id from published_source where sha256(source) = sha256($1))
       and sha256(name) = sha256($2) and sha256(version) = sha256($3)`,
    [bytesOf(source), bytesOf(name), bytesOf(version)],
  )
  return row && jsonIn(row.actor)
}

/** Bytes of the documents of a source, or of those that an actor published there. */
export async function heldBytes(
  statements: Statements,
  { id }: PublishedSource,
  actor?: PublicationActor,
): Promise<number> {
  const [row] = await statements.query<{ bytes: string }>(
    `select coalesce(sum(octet_length(server)), 0) as bytes from published_version
     where source = $1 and server is not null and ($2::bytea is null or sha256(actor) = sha256($2))`,
    [id, actor === undefined ? null : actorBytes(actor)],
  )
  return Number(row?.bytes ?? 0)
}

/** Deletes the documents of versions of a name. Returns how many bytes they had. */
export async function purgeVersions(
  statements: Statements,
  { id, revision }: PublishedSource,
  name: string,
  versions: readonly PublishedVersion[],
): Promise<number> {
  const [row] = await statements.query<{ bytes: string }>(
    `with gone as (
       select ctid, octet_length(server) as size from published_version
       where source = $1 and sha256(name) = sha256($2) and sha256(version) in
         (select sha256(key) from unnest($3::bytea[]) as purged (key))
     ), purged as (
       update published_version set server = null from gone where published_version.ctid = gone.ctid
     )
     select coalesce(sum(size), 0) as bytes from gone`,
    [id, bytesOf(name), versions.map(({ version }) => bytesOf(version))],
  )
  await statements.query('update published_source set purged = $2 where id = $1', [id, revision])
  return Number(row?.bytes ?? 0)
}

/** Adds an event, and deletes the oldest events of its name beyond the limit. */
export async function insertEvent(
  statements: Statements,
  { id, revision, requestId }: PublishedSource,
  event: PublicationEvent,
  maxEvents: number | undefined,
): Promise<void> {
  const name = bytesOf(event.name)
  await statements.query(
    'insert into publication (source, revision, request_id, name, event) values ($1, $2, $3, $4, $5)',
    [id, revision, requestId, name, jsonBytes(event)],
  )
  if (maxEvents === undefined) return
  await statements.query(
    `delete from publication where source = $1 and sha256(name) = sha256($2) and id <=
       (select id from publication where source = $1 and sha256(name) = sha256($2) order by id desc limit 1 offset $3)`,
    [id, name, maxEvents],
  )
}

/** Whether the events of this request were stored. */
export async function hasEvents(
  statements: Statements,
  { id, requestId }: PublishedSource,
  name: string,
): Promise<boolean> {
  const found = await statements.query(
    'select 1 from publication where source = $1 and sha256(name) = sha256($2) and request_id = $3 limit 1',
    [id, bytesOf(name), requestId],
  )
  return found.length > 0
}

/** Newest first. */
export async function findEvents(
  statements: Statements,
  source: string,
  name: string,
  limit: number,
): Promise<readonly PublicationEvent[]> {
  const rows = await statements.query<{ event: Buffer }>(
    `select event from publication
     where source = (select id from published_source where sha256(source) = sha256($1))
       and sha256(name) = sha256($2)
     order by id desc limit $3`,
    [bytesOf(source), bytesOf(name), limit],
  )
  return rows.map(({ event }) => jsonIn(event))
}

/**
 * All publications, or the changes since a revision; undefined without changes. Reads the payloads within the
 * transaction.
 */
export async function readPublished(
  statements: Statements,
  source: string,
  since: number | undefined,
): Promise<StoredContents | undefined> {
  const found = await findPublished(statements, source)
  const { id, revision, purged } = found ?? { id: 0, revision: 0, purged: 0 }
  if (revision === since) return undefined
  const isKnown =
    since !== undefined &&
    since >= purged &&
    (since === 0 || since === purged || (await isRevision(statements, { id }, since)))
  const payloads = await payloadsOf<{ readonly facts: Buffer; readonly server: Buffer }>(
    statements,
    'select facts, server from published_version where source = $1 and revision > $2 and server is not null',
    [id, isKnown ? since : 0],
    (rows) => rows.map(({ facts, server }) => payloadOf(jsonIn(facts), server)),
  )
  return { kind: isKnown ? 'changes' : 'whole', payloads, revision, bookmark: undefined }
}

/** Whether this database has the revision; false after the restore of an older backup. */
async function isRevision(
  statements: Statements,
  { id }: Pick<PublishedSource, 'id'>,
  revision: number,
): Promise<boolean> {
  const rows = await statements.query(
    'select 1 from publication where source = $1 and revision = $2 limit 1',
    [id, revision],
  )
  return rows.length > 0
}

// As bytes, since PostgreSQL's text depends on the encoding of the database.
const jsonBytes = (value: object): Buffer => Buffer.from(JSON.stringify(value))
const jsonIn = (bytes: Buffer) => JSON.parse(bytes.toString())

/** As one value, for comparison. */
const actorBytes = (actor: PublicationActor): Buffer => jsonBytes(identified(actor))
