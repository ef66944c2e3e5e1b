import type { DatabaseSync } from 'node:sqlite'
import type { PublicationActor, PublicationState } from 'sallyport'
import type { ServedTables } from './served-database.js'

/** A version that is published. Texts of others are bytes: a text of SQLite loses half surrogates. */
export interface PublishedRow {
  readonly id: number
  readonly name: Uint8Array
  readonly version: Uint8Array
  readonly status: PublicationState['status']
  readonly message: Uint8Array | null
  readonly publishedAt: string
  readonly updatedAt: string
  readonly statusChangedAt: string
  readonly server: Uint8Array
}

export interface EventRow {
  readonly name: Uint8Array
  readonly version: Uint8Array
  readonly at: string
  readonly action: 'publish' | 'status'
  readonly provider: Uint8Array
  readonly subject: Uint8Array
  readonly statusBefore: PublicationState['status'] | null
  readonly messageBefore: Uint8Array | null
  readonly status: PublicationState['status']
  readonly message: Uint8Array | null
}

export type ActorBytes = { readonly [Key in keyof PublicationActor]: Uint8Array }

/** Who wants what to happen to a name. */
export interface WantedChange {
  readonly source: number
  readonly name: Uint8Array
  /** By the clock. */
  readonly now: string
  readonly actor: ActorBytes
}

/** How many versions come at once. */
export const PAGE = 200

/** What is published in each source, and its history. */
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
  const statement = (sql: string) => database.prepare(sql)
  const addSource = statement('insert or ignore into source (name) values (?)')
  const sourceOf = statement('select id, holder from source where name = ?')
  const hold = statement('update source set holder = ? where id = ?')
  const revisionOf = statement('select revision from source where id = ?')
  // None is before the one before it, whatever the clock says.
  const begin = statement(
    `update source set revision = revision + 1, changed_at = max(changed_at, ?) where id = ?
     returning revision, changed_at as at`,
  )
  const isThere = statement('select 1 from version where source = ? and name = ? and version = ?')
  const count = statement('select count(*) as versions from version where source = ? and name = ?')
  const addEvent = statement(
    `insert into event (source, name, version, at, action, provider, subject, status)
     values (?, ?, ?, ?, 'publish', ?, ?, 'active')`,
  )
  const addVersion = statement(
    `insert into version (source, name, version, published, status, published_at, updated_at, status_changed_at,
       revision, server)
     values (?1, ?2, ?3, ?4, 'active', ?5, ?5, ?5, ?6, ?7)`,
  )
  const anyWanted = statement(`select 1 from version where ${WANTED} limit 1`)
  const anyDiffers = statement(`select 1 from version where ${DIFFERS} limit 1`)
  const lastEvent = statement('select max(id) as id from event')
  const addEvents = statement(
    `insert into event (source, name, version, at, action, provider, subject, status_before, message_before, status,
       message)
     select source, name, version, :at, 'status', :provider, :subject, status, message, :status, :message
     from version where ${DIFFERS} order by id`,
  )
  const setState = statement(
    `update version set status_changed_at = iif(status = :status, status_changed_at, :at), status = :status,
       message = :message, updated_at = :at, revision = :revision
     where ${DIFFERS}`,
  )
  const eventsAfter = statement(`select ${EVENT} from event where id > ? order by id`)
  const history = statement(
    `select ${EVENT} from event where source = ? and name = ? order by id desc limit ?`,
  )
  const publisher = statement(
    `select provider, subject from event where id =
       (select published from version where source = ? and name = ? and version = ?)`,
  )
  const page = statement(
    `select ${VERSION} from version where source = ? and revision > ? and id > ? order by id limit ${PAGE}`,
  )

  function publish(
    { source, name, now, actor }: WantedChange,
    version: Uint8Array,
    server: Uint8Array,
    maxVersions: number,
  ): { readonly at: string } | 'exists' | 'too many' {
    if (isThere.get(source, name, version) !== undefined) return 'exists'
    if ((count.get(source, name)?.['versions'] as number) >= maxVersions) return 'too many'
    const { revision = 0, at = '' } = begin.get(now, source) ?? {}
    const { lastInsertRowid } = addEvent.run(source, name, version, at, actor.provider, actor.subject)
    addVersion.run(source, name, version, lastInsertRowid, at, revision, server)
    return { at: String(at) }
  }

  function setStatus(
    { source, name, now, actor }: WantedChange,
    version: Uint8Array | null,
    status: PublicationState['status'],
    message: Uint8Array | null,
  ): readonly EventRow[] | 'unknown' {
    if (anyWanted.get({ source, name, version }) === undefined) return 'unknown'
    const wanted = { source, name, version, status, message }
    if (anyDiffers.get(wanted) === undefined) return []
    const { revision = 0, at = '' } = begin.get(now, source) ?? {}
    const last = lastEvent.get()?.['id'] ?? 0
    addEvents.run({ ...wanted, at, provider: actor.provider, subject: actor.subject })
    setState.run({ ...wanted, at, revision })
    return rows<EventRow>(eventsAfter.all(last))
  }

  return {
    reads: {
      holder: (source: Uint8Array): string => String(sourceOf.get(source)?.['holder'] ?? ''),
      revision: (source: number): number => revisionOf.get(source)?.['revision'] as number,
      /** Versions that changed after a revision, in the order of their first publication. */
      page: (source: number, since: number, after: number): readonly PublishedRow[] =>
        rows<PublishedRow>(page.all(source, since, after)),
      history: (source: number, name: Uint8Array, limit: number): readonly EventRow[] =>
        rows<EventRow>(history.all(source, name, limit)),
      publisher: (source: number, name: Uint8Array, version: Uint8Array): ActorBytes | undefined =>
        rows<ActorBytes>([publisher.get(source, name, version)].filter((row) => row !== undefined))[0],
    },
    writes: {
      /** Returns the number of the source. */
      open(source: Uint8Array, holder: string): number {
        addSource.run(source)
        const id = sourceOf.get(source)?.['id'] as number
        hold.run(holder, id)
        return id
      },
      publish,
      setStatus,
      /** Fails while nothing can be written. */
      probe: (): void => database.exec('pragma user_version = 1'),
    },
  }
}

/** Whose columns are those of the type: SQLite does not know it. */
const rows = <Row>(found: readonly Record<string, unknown>[]): readonly Row[] => found as unknown as Row[]
