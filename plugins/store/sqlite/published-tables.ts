import type { DatabaseSync } from 'node:sqlite'
import type { PublicationState } from 'sallyport'
import type { ActorBytes, EventRow, PublishedRow } from './published-rows.js'
import type { ServedTables } from './served-database.js'
import { type Statements, statementsOf } from './statements.js'

/** Who wants what to happen to a name. */
export interface WantedChange {
  readonly source: number
  readonly name: Uint8Array
  /** By the clock. */
  readonly now: string
  readonly actor: ActorBytes
}

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
      status_before text,
      message_before blob,
      status text not null,
      message blob
    ) strict;
    create index event_name on event (source, name);
    create table version (
      id integer primary key,
      source integer not null references source,
      name blob not null,
      version blob not null,
      published integer not null references event,
      status text not null,
      message blob,
      published_at text not null,
      updated_at text not null,
      status_changed_at text not null,
      revision integer not null,
      server blob not null,
      unique (source, name, version)
    ) strict;
    create index version_revision on version (source, revision);
  `,
  prepare,
} as const satisfies ServedTables

const EVENT = `name, version, at, action, provider, subject, status_before as statusBefore,
  message_before as messageBefore, status, message`
const VERSION = `id, name, version, status, message, published_at as publishedAt, updated_at as updatedAt,
  status_changed_at as statusChangedAt, server`
const WANTED = `source = :source and name = :name and (:version is null or version = :version)`
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
  /** Versions that changed after a revision, in the order of their first publication. */
  page: (source: number, since: number, after: number): readonly PublishedRow[] =>
    rows(
      sql(
        `select ${VERSION} from version where source = ? and revision > ? and id > ? order by id limit ${PAGE}`,
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
      sql(
        `select provider, subject from event where id =
           (select published from version where source = ? and name = ? and version = ?)`,
      ).all(source, name, version),
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
    maxVersions: number,
  ): { readonly at: string } | 'exists' | 'too many' {
    const { source, name, actor } = wanted
    const key = 'select 1 from version where source = ? and name = ? and version = ?'
    if (sql(key).get(source, name, version) !== undefined) return 'exists'
    const count = 'select count(*) as versions from version where source = ? and name = ?'
    if (Number(sql(count).get(source, name)?.['versions']) >= maxVersions) return 'too many'
    const { revision, at } = begun(sql, wanted)
    const { lastInsertRowid } = sql(
      `insert into event (source, name, version, at, action, provider, subject, status)
       values (?, ?, ?, ?, 'publish', ?, ?, 'active')`,
    ).run(source, name, version, at, actor.provider, actor.subject)
    sql(
      `insert into version (source, name, version, published, status, published_at, updated_at, status_changed_at,
         revision, server)
       values (?1, ?2, ?3, ?4, 'active', ?5, ?5, ?5, ?6, ?7)`,
    ).run(source, name, version, lastInsertRowid, at, revision, server)
    return { at }
  },

  setStatus(
    wanted: WantedChange,
    version: Uint8Array | null,
    status: PublicationState['status'],
    message: Uint8Array | null,
  ): readonly EventRow[] | 'unknown' {
    const { source, name, actor } = wanted
    const versions = { source, name, version }
    const changes = { ...versions, status, message }
    if (sql(`select 1 from version where ${WANTED} limit 1`).get(versions) === undefined) return 'unknown'
    if (sql(`select 1 from version where ${DIFFERS} limit 1`).get(changes) === undefined) return []
    const { revision, at } = begun(sql, wanted)
    const last = sql('select max(id) as id from event').get()?.['id'] ?? 0
    sql(
      `insert into event (source, name, version, at, action, provider, subject, status_before, message_before,
         status, message)
       select source, name, version, :at, 'status', :provider, :subject, status, message, :status, :message
       from version where ${DIFFERS} order by id`,
    ).run({ ...changes, at, ...actor })
    sql(
      `update version set status_changed_at = iif(status = :status, status_changed_at, :at), status = :status,
         message = :message, updated_at = :at, revision = :revision
       where ${DIFFERS}`,
    ).run({ ...changes, at, revision })
    return rows(sql(`select ${EVENT} from event where id > ? order by id`).all(last))
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

/** Whose columns are those of the type: SQLite does not know it. */
const rows = <Row>(found: readonly Record<string, unknown>[]): readonly Row[] => found as unknown as Row[]
