import type { PublicationActor, PublicationEvent, PublicationState, VersionKey } from 'sallyport'
import type { Statements } from '../database/database.js'
import { type PublishedVersion, withState } from '../publications/publication.js'
import { bytesOf, textOf } from '../text-bytes.js'

/** A source to which people publish. Its row is locked by whoever writes. */
export interface PublishedSource {
  readonly id: number
  readonly revision: number
  readonly at: string
  /** Of the request that writes: its events are known by it. */
  readonly requestId: Buffer
}

interface SourceColumns {
  readonly id: number
  readonly revision: number
  readonly changed_at: Date
}

const sourceOf = ({ id, revision, changed_at }: SourceColumns) => ({
  ...{ id, revision },
  at: changed_at.toISOString(),
})

/** The source as it is; undefined before the first publication. */
export async function findPublished(
  statements: Statements,
  source: string,
): Promise<Omit<PublishedSource, 'requestId'> | undefined> {
  const [row] = await statements.query<SourceColumns>(
    'select id, revision, changed_at from published_source where sha256(source) = sha256($1)',
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
     where sha256(source) = sha256($1) returning id, revision, changed_at`,
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
): Promise<boolean> {
  const inserted = await statements.query(
    `insert into published_version (source, revision, name, version, state, server, published_at, updated_at, status_changed_at)
     values ($1, $2, $3, $4, $5, $6, $7, $7, $7) on conflict do nothing returning 1`,
    [id, revision, bytesOf(name), bytesOf(version), stateBytes(state), server, at],
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
     where source = $1 and sha256(name) = sha256($2) and ($3::bytea is null or sha256(version) = sha256($3))
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

/** What happens at once, to versions of one name. */
export async function insertEvents(
  statements: Statements,
  { id, revision, requestId }: PublishedSource,
  { at, action, actor, name, after }: PublicationEvent,
  versions: readonly Pick<PublicationEvent, 'version' | 'before'>[],
): Promise<void> {
  await statements.query(
    `insert into publication (source, revision, at, action, provider, subject, name, after, request_id, version, before)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, * from unnest($10::bytea[], $11::bytea[])`,
    [
      ...[id, revision, at, action, bytesOf(actor.provider), bytesOf(actor.subject), bytesOf(name)],
      ...[stateBytes(after), requestId, versions.map(({ version }) => bytesOf(version))],
      versions.map(({ before }) => (before === undefined ? null : stateBytes(before))),
    ],
  )
}

/** Whether the events of this request are there. */
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

export async function findPublisher(
  statements: Statements,
  source: string,
  { name, version }: VersionKey,
): Promise<PublicationActor | undefined> {
  const [row] = await statements.query<{ provider: Buffer; subject: Buffer }>(
    `select provider, subject from publication
     where source = (select id from published_source where sha256(source) = sha256($1))
       and sha256(name) = sha256($2) and action = 'publish' and version = $3`,
    [bytesOf(source), bytesOf(name), bytesOf(version)],
  )
  return row && { provider: textOf(row.provider), subject: textOf(row.subject) }
}

/** Newest first. */
export async function findEvents(
  statements: Statements,
  source: string,
  name: string,
  limit: number,
): Promise<readonly PublicationEvent[]> {
  const rows = await statements.query<{
    at: Date
    action: PublicationEvent['action']
    provider: Buffer
    subject: Buffer
    version: Buffer
    before: Buffer | null
    after: Buffer
  }>(
    `select at, action, provider, subject, version, before, after from publication
     where source = (select id from published_source where sha256(source) = sha256($1))
       and sha256(name) = sha256($2)
     order by id desc limit $3`,
    [bytesOf(source), bytesOf(name), limit],
  )
  return rows.map(({ at, action, provider, subject, version, before, after }) => {
    const actor: PublicationActor = { provider: textOf(provider), subject: textOf(subject) }
    const about = { name, version: textOf(version), at: at.toISOString(), action, actor }
    return { ...about, ...(before !== null && { before: stateIn(before) }), after: stateIn(after) }
  })
}

const stateBytes = (state: PublicationState): Buffer => Buffer.from(JSON.stringify(state))
const stateIn = (bytes: Buffer): PublicationState => JSON.parse(bytes.toString())
