import type { DatabaseSync } from 'node:sqlite'
import type {
  PublicationActor,
  PublicationEvent,
  PublicationLimits,
  PublicationState,
  PurgedVersions,
  VersionKey,
} from 'sallyport'
import { bytesOf } from '../bytes.js'
import {
  ACTIVE,
  type PublishedVersion,
  publishEvent,
  purgeEvent,
  statusEvent,
  withState,
} from '../publications/events.js'
import { type ServedTables, type Statements, statementsOf } from './served-database.js'

/** How many versions one read returns. */
const PAGE = 200

/** The publications of each source, and their history. Names are bytes: SQLite's text loses half surrogates. */
export const publishedTables = {
  application: 0x53706f33,
  level: 1,
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
      event text not null
    ) strict;
    create index event_name on event (source, name);
    create table version (
      id integer primary key,
      source integer not null references source,
      name blob not null,
      version blob not null,
      actor text not null,
      facts text not null,
      revision integer not null,
      size integer not null,
      server blob,
      unique (source, name, version)
    ) strict;
    create index version_revision on version (source, revision);
    create index version_size on version (source, actor, size) where server is not null;
  `,
  prepare,
} as const satisfies ServedTables

/** A requested change of a name, with its author. */
export interface WantedChange {
  readonly source: number
  readonly name: string
  /** Only the identity of the author, compared as text. */
  readonly actor: PublicationActor
  /** The time by the clock. */
  readonly now: string
}

type Full = 'exists' | 'too many' | 'source full' | 'publisher full'

function prepare(database: DatabaseSync) {
  const sql = statementsOf(database)
  return { reads: readsOf(sql), writes: writesOf(sql) }
}

const readsOf = (sql: Statements) => ({
  holder: (source: string): string =>
    String(sql('select holder from source where name = ?').get(bytesOf(source))?.['holder'] ?? ''),
  revision: (source: number): number =>
    Number(sql('select revision from source where id = ?').get(source)?.['revision']),
  /** The revision of the last purge: a reader with an earlier one reads the whole. */
  purged: (source: number): number =>
    Number(sql('select purged from source where id = ?').get(source)?.['purged']),
  /** Versions that changed after a revision, in the order of their first publication. */
  page: (source: number, since: number, after: number) =>
    sql(
      `select id, facts, server from version
       where source = ? and revision > ? and id > ? and server is not null order by id limit ${PAGE}`,
    )
      .all(source, since, after)
      .map(({ id, facts, server }) => ({
        id: Number(id),
        version: JSON.parse(String(facts)) as PublishedVersion,
        server: server as Uint8Array,
      })),
  history: (source: number, name: string, limit: number): readonly PublicationEvent[] =>
    sql('select event from event where source = ? and name = ? order by id desc limit ?')
      .all(source, bytesOf(name), limit)
      .map(({ event }) => JSON.parse(String(event))),
  publisher(source: number, { name, version }: VersionKey): PublicationActor | undefined {
    const find = 'select actor from version where source = ? and name = ? and version = ?'
    const row = sql(find).get(source, bytesOf(name), bytesOf(version))
    return row && JSON.parse(String(row['actor']))
  },
})

const writesOf = (sql: Statements) => ({
  /** Returns the number of the source. */
  open(source: string, holder: string): number {
    const hold = `insert into source (name, holder) values (?, ?)
      on conflict (name) do update set holder = excluded.holder returning id`
    return Number(sql(hold).get(bytesOf(source), holder)?.['id'])
  },

  publish(
    wanted: WantedChange,
    version: string,
    server: Uint8Array,
    limits: PublicationLimits,
  ): PublicationEvent | Full {
    const { source, name, actor } = wanted
    const key = [source, bytesOf(name), bytesOf(version)] as const
    const find = 'select 1 from version where source = ? and name = ? and version = ?'
    if (sql(find).get(...key) !== undefined) return 'exists'
    const own = JSON.stringify(actor)
    const full = fullOf(sql, wanted, own, server.length, limits)
    if (full !== undefined) return full
    const { revision, at } = begun(sql, wanted)
    const event = publishEvent({ name, version }, actor, at)
    const dates = { publishedAt: at, updatedAt: at, statusChangedAt: at }
    const facts: PublishedVersion = { name, version, state: ACTIVE, ...dates }
    sql(
      `insert into version (source, name, version, actor, facts, revision, size, server)
       values (?, ?, ?, ?, ?, ?, ?, ?)`,
    ).run(...key, own, JSON.stringify(facts), revision, server.length, server)
    store(sql, wanted, event, revision, limits.maxEvents)
    return event
  },

  setStatus(
    wanted: WantedChange,
    version: string | undefined,
    state: PublicationState,
    maxEvents: number | undefined,
  ): PublicationEvent | undefined | 'unknown' {
    const versions = versionsOf(sql, wanted, version)
    if (versions.length === 0) return 'unknown'
    const { revision, at } = begun(sql, wanted)
    const { event, changed } = statusEvent(versions, state, wanted.actor, at)
    if (event === undefined) return undefined
    const update = sql(
      'update version set facts = ?, revision = ? where source = ? and name = ? and version = ?',
    )
    for (const each of changed) {
      const facts = JSON.stringify(withState(each, event.after, at))
      update.run(facts, revision, wanted.source, bytesOf(each.name), bytesOf(each.version))
    }
    store(sql, wanted, event, revision, maxEvents)
    return event
  },

  purge(
    wanted: WantedChange,
    maxEvents: number | undefined,
  ): (PurgedVersions & { readonly at: string }) | 'unknown' {
    const { source, name, actor } = wanted
    const find = 'select 1 from version where source = ? and name = ? limit 1'
    if (sql(find).get(source, bytesOf(name)) === undefined) return 'unknown'
    const deleted = versionsOf(sql, wanted).filter(({ state }) => state.status === 'deleted')
    const { revision, at } = begun(sql, wanted)
    const event = purgeEvent(deleted, actor, at)
    if (event === undefined) return { versions: [], bytes: 0, at }
    sql('update source set purged = ? where id = ?').run(revision, source)
    const empty = sql(
      'update version set server = null where source = ? and name = ? and version = ? returning size',
    )
    const sizes = deleted.map(({ version }) =>
      Number(empty.get(source, bytesOf(name), bytesOf(version))?.['size']),
    )
    store(sql, wanted, event, revision, maxEvents)
    const bytes = sizes.reduce((sum, size) => sum + size, 0)
    return { versions: deleted.map(({ version }) => version), bytes, at }
  },

  /** Throws while the database cannot be written. */
  probe: (): void => void sql(`pragma user_version = ${publishedTables.level}`).run(),
})

/** The limit that a version would exceed. */
function fullOf(
  sql: Statements,
  { source, name }: WantedChange,
  actor: string,
  size: number,
  { maxVersions, maxBytes = Infinity, maxBytesOfActor = Infinity }: PublicationLimits,
): Full | undefined {
  const count = 'select count(*) as versions from version where source = ? and name = ?'
  if (Number(sql(count).get(source, bytesOf(name))?.['versions']) >= maxVersions) return 'too many'
  const held = 'select coalesce(sum(size), 0) as bytes from version where source = ? and server is not null'
  const heldByActor = (): number => Number(sql(`${held} and actor = ?`).get(source, actor)?.['bytes'])
  if (maxBytesOfActor < Infinity && heldByActor() + size > maxBytesOfActor) return 'publisher full'
  const heldByAll = (): number => Number(sql(held).get(source)?.['bytes'])
  return maxBytes < Infinity && heldByAll() + size > maxBytes ? 'source full' : undefined
}

/** One version, or all versions of a name in the order of their publication, without purged ones. */
const versionsOf = (
  sql: Statements,
  { source, name }: WantedChange,
  version?: string,
): readonly PublishedVersion[] =>
  sql(
    `select facts from version where source = :source and name = :name and server is not null
       and (:version is null or version = :version) order by id`,
  )
    .all({ source, name: bytesOf(name), version: version === undefined ? null : bytesOf(version) })
    .map(({ facts }) => JSON.parse(String(facts)))

/** The number and the date of the next change: a date is never before the previous one, whatever the clock says. */
function begun(sql: Statements, { now, source }: WantedChange) {
  const next = 'select revision + 1 as revision, max(changed_at, ?) as at from source where id = ?'
  const found = sql(next).get(now, source)
  return { revision: Number(found?.['revision']), at: String(found?.['at']) }
}

/** Adds an event, and deletes the oldest events of its name beyond the limit. */
function store(
  sql: Statements,
  { source, name }: WantedChange,
  event: PublicationEvent,
  revision: number,
  maxEvents: number | undefined,
): void {
  const key = bytesOf(name)
  sql('update source set revision = ?, changed_at = ? where id = ?').run(revision, event.at, source)
  sql('insert into event (source, name, event) values (?, ?, ?)').run(source, key, JSON.stringify(event))
  if (maxEvents === undefined) return
  sql(
    `delete from event where source = :source and name = :key and id <=
       (select id from event where source = :source and name = :key order by id desc limit 1 offset :maxEvents)`,
  ).run({ source, key, maxEvents })
}
