import type { DatabaseSync } from 'node:sqlite'
import type { PublicationLimits, PublicationState } from 'sallyport'
import { type ChangedRow, EVENT, insertEvent, listOf, rows, type WantedChange } from './published-events.js'
import type { ActorBytes, EventRow, PublishedRow } from './published-rows.js'
import type { ServedTables } from './served-database.js'
import { type Statements, statementsOf } from './statements.js'

/** How many versions come at once. */
const PAGE = 200

const LEVEL = 1

/** What is published in each source, and its history. */
export const publishedTables = {
  application: 0x53706f33,
  level: LEVEL,
  synchronous: 'full',
  isOnly: true,
  schema: `
    create table source (
      id integer primary key,
      name blob not null unique,
      revision integer not null default 0,
      purged integer not null default 0,
      changed_at text not null default '',
      holder text not null default ''
    ) strict;
    create table event (
      id integer primary key,
      source integer not null references source,
      name blob not null,
      version blob not null,
      at text not null,
      action text not null,
      provider blob not null,
      subject blob not null,
      issuer blob,
      status_before text,
      message_before blob,
      status text not null,
      message blob,
      versions text
    ) strict;
    create index event_name on event (source, name);
    create table version (
      id integer primary key,
      source integer not null references source,
      name blob not null,
      version blob not null,
      provider blob not null,
      subject blob not null,
      issuer blob,
      status text not null,
      message blob,
      published_at text not null,
      updated_at text not null,
      status_changed_at text not null,
      revision integer not null,
      size integer not null,
      server blob,
      unique (source, name, version)
    ) strict;
    create index version_revision on version (source, revision);
    create index version_size on version (source, provider, subject, issuer, size) where server is not null;
  `,
  prepare,
} as const satisfies ServedTables

const VERSION = `id, name, version, status, message, published_at as publishedAt, updated_at as updatedAt,
  status_changed_at as statusChangedAt, server`
const WANTED = `source = :source and name = :name and server is not null and (:version is null or version = :version)`
const DIFFERS = `${WANTED} and (status <> :status or message is not :message)`

function prepare(database: DatabaseSync) {
  const sql = statementsOf(database)
  return { reads: readsOf(sql), writes: writesOf(sql) }
}

const readsOf = (sql: Statements) => ({
  holder: (source: Uint8Array): string =>
    String(sql('select holder from source where name = ?').get(source)?.['holder'] ?? ''),
  revision: (source: number): number =>
    Number(sql('select revision from source where id = ?').get(source)?.['revision']),
  /** Who knows an earlier revision than that of the last purge reads the whole. */
  purged: (source: number): number =>
    Number(sql('select purged from source where id = ?').get(source)?.['purged']),
  /** Versions that changed after a revision, in the order of their first publication. */
  page: (source: number, since: number, after: number): readonly PublishedRow[] =>
    rows(
      sql(
        `select ${VERSION} from version where source = ? and revision > ? and id > ? and server is not null order by id limit ${PAGE}`,
      ).all(source, since, after),
    ),
  history: (source: number, name: Uint8Array, limit: number): readonly EventRow[] =>
    rows(
      sql(`select ${EVENT} from event where source = ? and name = ? order by id desc limit ?`).all(
        ...[source, name, limit],
      ),
    ),
  publisher: (source: number, name: Uint8Array, version: Uint8Array): ActorBytes | undefined =>
    rows<ActorBytes>(
      sql('select provider, subject, issuer from version where source = ? and name = ? and version = ?').all(
        source,
        name,
        version,
      ),
    )[0],
})

const writesOf = (sql: Statements) => ({
  /** Returns the number of the source. */
  open(source: Uint8Array, holder: string): number {
    const hold = `insert into source (name, holder) values (?, ?)
      on conflict (name) do update set holder = excluded.holder returning id`
    return Number(sql(hold).get(source, holder)?.['id'])
  },

  publish(
    wanted: WantedChange,
    version: Uint8Array,
    server: Uint8Array,
    { maxVersions, maxEvents, maxBytes, maxBytesOfActor }: PublicationLimits,
  ): { readonly at: string } | 'exists' | 'too many' | 'source full' | 'publisher full' {
    const { source, name, actor } = wanted
    const key = 'select 1 from version where source = ? and name = ? and version = ?'
    if (sql(key).get(source, name, version) !== undefined) return 'exists'
    const count = 'select count(*) as versions from version where source = ? and name = ?'
    if (Number(sql(count).get(source, name)?.['versions']) >= maxVersions) return 'too many'
    const own = 'and provider = :provider and subject = :subject and issuer is :issuer'
    const held = (which: string, values: object): number =>
      Number(
        sql(
          `select coalesce(sum(size), 0) as bytes from version where source = :source and server is not null ${which}`,
        ).get({ source, ...values })?.['bytes'],
      )
    const size = server.length
    if (maxBytesOfActor !== undefined && held(own, actor) + size > maxBytesOfActor) return 'publisher full'
    if (maxBytes !== undefined && held('', {}) + size > maxBytes) return 'source full'
    const { revision, at } = begun(sql, wanted)
    const { provider, subject, issuer } = actor
    const row = {
      version,
      at,
      action: 'publish',
      before: null,
      messageBefore: null,
      status: 'active',
    } as const
    insertEvent(sql, wanted, { ...row, message: null, versions: null }, maxEvents)
    sql(
      `insert into version (source, name, version, provider, subject, issuer, status, published_at, updated_at,
         status_changed_at, revision, size, server)
       values (?1, ?2, ?3, ?4, ?5, ?6, 'active', ?7, ?7, ?7, ?8, ?9, ?10)`,
    ).run(source, name, version, provider, subject, issuer, at, revision, size, server)
    return { at }
  },

  setStatus(
    wanted: WantedChange,
    version: Uint8Array | null,
    status: PublicationState['status'],
    message: Uint8Array | null,
    maxEvents: number | undefined,
  ): EventRow | undefined | 'unknown' {
    const { source, name } = wanted
    const versions = { source, name, version }
    const changes = { ...versions, status, message }
    if (sql(`select 1 from version where ${WANTED} limit 1`).get(versions) === undefined) return 'unknown'
    const differing = rows<ChangedRow>(
      sql(`select version, status, message from version where ${DIFFERS} order by id`).all(changes),
    )
    const [first] = differing
    if (first === undefined) return undefined
    const { revision, at } = begun(sql, wanted)
    sql(
      `update version set status_changed_at = iif(status = :status, status_changed_at, :at), status = :status,
         message = :message, updated_at = :at, revision = :revision
       where ${DIFFERS}`,
    ).run({ ...changes, at, revision })
    const before = { version: first.version, before: first.status, messageBefore: first.message }
    const event = { ...before, at, action: 'status', status, message, versions: listOf(differing) } as const
    return insertEvent(sql, wanted, event, maxEvents)
  },

  purge(
    wanted: WantedChange,
    maxEvents: number | undefined,
  ): { readonly versions: readonly Uint8Array[]; readonly bytes: number; readonly at: string } | 'unknown' {
    const { source, name } = wanted
    if (sql('select 1 from version where source = ? and name = ? limit 1').get(source, name) === undefined)
      return 'unknown'
    const deleted = "source = ? and name = ? and status = 'deleted' and server is not null"
    const gone = rows<ChangedRow & { readonly size: number }>(
      sql(`select version, status, message, size from version where ${deleted} order by id`).all(
        source,
        name,
      ),
    )
    const [first] = gone
    if (first === undefined) return { versions: [], bytes: 0, at: '' }
    const { revision, at } = begun(sql, wanted)
    sql('update source set purged = ? where id = ?').run(revision, source)
    sql(`update version set server = null where ${deleted}`).run(source, name)
    const before = { version: first.version, before: first.status, messageBefore: first.message }
    const after = { status: 'deleted', message: null, versions: listOf(gone) } as const
    insertEvent(sql, wanted, { ...before, at, action: 'purge', ...after }, maxEvents)
    const bytes = gone.reduce((sum, { size }) => sum + size, 0)
    return { versions: gone.map(({ version }) => version), bytes, at }
  },

  /** Fails while nothing can be written. */
  probe: (): void => void sql(`pragma user_version = ${LEVEL}`).run(),
})

/** The number and the date of the next change: none is before the one before it, whatever the clock says. */
function begun(sql: Statements, { now, source }: WantedChange) {
  const found = sql(
    `update source set revision = revision + 1, changed_at = max(changed_at, ?) where id = ?
     returning revision, changed_at as at`,
  ).get(now, source)
  return { revision: Number(found?.['revision']), at: String(found?.['at']) }
}
