import type { PublicationActor, PublicationState, VersionKey } from 'sallyport'
import type { Statements } from '../database/database.js'
import { type PublishedVersion, withState } from '../publications/publication.js'
import { bytesOf, textOf } from '../text-bytes.js'

/** A source to which people publish. Its row is locked by whoever writes. */
export interface PublishedSource {
  readonly id: number
  readonly revision: number
  /** Of the last purge: who knows an earlier one reads the whole. */
  readonly purged: number
  readonly at: string
  /** Of the request that writes: its events are known by it. */
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

/** The source as it is; undefined before the first publication. */
export async function findPublished(
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
 * The source with the revision and the time of this transaction, and its lock: others wait for the end of it. A revision is a
 * time in milliseconds, so that a database whose backup was restored gives none a second time.
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

/** Of what is published, in the order of `COLUMNS`. */
export interface VersionColumns {
  readonly name: Buffer
  readonly version: Buffer
  readonly state: Buffer
  readonly published_at: Date
  readonly updated_at: Date
  readonly status_changed_at: Date
}

export const COLUMNS = 'name, version, state, published_at, updated_at, status_changed_at'

export const versionIn = (row: VersionColumns): PublishedVersion => ({
  name: textOf(row.name),
  version: textOf(row.version),
  state: stateIn(row.state),
  publishedAt: row.published_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
  statusChangedAt: row.status_changed_at.toISOString(),
})

/** `false` when the version is there already. */
export async function insertVersion(
  statements: Statements,
  { id, revision, at }: PublishedSource,
  { name, version, server }: VersionKey & { readonly server: Uint8Array },
  state: PublicationState,
  actor: PublicationActor,
): Promise<boolean> {
  const inserted = await statements.query(
    `insert into published_version (source, revision, name, version, state, server, published_at, updated_at,
       status_changed_at, provider, subject, issuer)
     values ($1, $2, $3, $4, $5, $6, $7, $7, $7, $8, $9, $10) on conflict do nothing returning 1`,
    [...[id, revision, bytesOf(name), bytesOf(version), stateBytes(state), server, at], ...actorBytes(actor)],
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

/** One version, or all of a name, in the order in which they were published. */
export async function findVersions(
  statements: Statements,
  { id }: PublishedSource,
  { name, version }: { readonly name: string; readonly version?: string | undefined },
): Promise<readonly PublishedVersion[]> {
  const rows = await statements.query<VersionColumns>(
    `select ${COLUMNS} from published_version
     where source = $1 and sha256(name) = sha256($2) and server is not null and ($3::bytea is null or sha256(version) = sha256($3))
     order by published_at, version`,
    [id, bytesOf(name), version === undefined ? null : bytesOf(version)],
  )
  return rows.map(versionIn)
}

/** Gives versions of one name the same state. */
export async function updateStates(
  statements: Statements,
  { id, revision, at }: PublishedSource,
  name: string,
  versions: readonly PublishedVersion[],
  state: PublicationState,
): Promise<void> {
  const changed = versions.map((version) => withState(version, state, at))
  await statements.query(
    `update published_version set revision = $2, state = $3, updated_at = $4, status_changed_at = changed.since
     from unnest($6::bytea[], $7::timestamptz[]) as changed (key, since)
     where source = $1 and sha256(name) = sha256($5) and sha256(version) = sha256(changed.key)`,
    [
      ...[id, revision, stateBytes(state), at, bytesOf(name), changed.map(({ version }) => bytesOf(version))],
      changed.map(({ statusChangedAt }) => statusChangedAt),
    ],
  )
}

export async function findPublisher(
  statements: Statements,
  source: string,
  { name, version }: VersionKey,
): Promise<PublicationActor | undefined> {
  const [row] = await statements.query<ActorColumns>(
    `select provider, subject, issuer from published_version
     where source = (select id from published_source where sha256(source) = sha256($1))
       and sha256(name) = sha256($2) and sha256(version) = sha256($3) and subject is not null`,
    [bytesOf(source), bytesOf(name), bytesOf(version)],
  )
  return row && actorIn(row)
}

/** Bytes of the documents of a source, or of those that an actor published there. */
export async function heldBytes(
  statements: Statements,
  { id }: PublishedSource,
  actor?: PublicationActor,
): Promise<number> {
  const own = `and sha256(subject) = sha256($2) and provider = $3 and issuer is not distinct from $4`
  const [provider, subject, issuer] = actor === undefined ? [] : actorBytes(actor)
  const [row] = await statements.query<{ bytes: string }>(
    `select coalesce(sum(octet_length(server)), 0) as bytes from published_version
     where source = $1 and server is not null ${actor === undefined ? '' : own}`,
    actor === undefined ? [id] : [id, subject, provider, issuer],
  )
  return Number(row?.bytes ?? 0)
}

/** Deletes the documents of the deleted versions of a name. Returns which those were, and their bytes. */
export async function purgeVersions(
  statements: Statements,
  { id, revision }: PublishedSource,
  name: string,
): Promise<readonly (PublishedVersion & { readonly size: number })[]> {
  const rows = await statements.query<VersionColumns & { readonly size: string }>(
    `with gone as (
       select ctid, ${COLUMNS}, octet_length(server) as size from published_version
       where source = $1 and sha256(name) = sha256($2) and server is not null
         and convert_from(state, 'UTF8')::json->>'status' = 'deleted'
     ), purged as (
       update published_version set server = null from gone where published_version.ctid = gone.ctid
     )
     select ${COLUMNS}, size from gone order by published_at, version`,
    [id, bytesOf(name)],
  )
  if (rows.length > 0)
    await statements.query('update published_source set purged = $2 where id = $1', [id, revision])
  return rows.map((row) => ({ ...versionIn(row), size: Number(row.size) }))
}

export const stateBytes = (state: PublicationState): Buffer => Buffer.from(JSON.stringify(state))
export const stateIn = (bytes: Buffer): PublicationState => JSON.parse(bytes.toString())

export interface ActorColumns {
  readonly provider: Buffer
  readonly subject: Buffer
  readonly issuer: Buffer | null
}

export const actorIn = ({ provider, subject, issuer }: ActorColumns): PublicationActor => ({
  ...{ provider: textOf(provider), subject: textOf(subject) },
  ...(issuer !== null && { issuer: textOf(issuer) }),
})

/** Provider, subject, issuer. */
export const actorBytes = ({ provider, subject, issuer }: PublicationActor): readonly (Buffer | null)[] => [
  ...[bytesOf(provider), bytesOf(subject)],
  issuer === undefined ? null : bytesOf(issuer),
]
