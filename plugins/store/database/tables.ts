/** What brings the schema to a level: the first entry creates level 1. They are never changed once they were released. */
export const STEPS: readonly { readonly does: string; readonly sql: string }[] = [
  {
    does: 'created the tables',
    // Text that others control is `bytea`: `text` refuses NUL, and depends on the encoding of the database. Names have no
    // limit, but what is indexed has, so digests are.
    sql: `
      create table source_state (
        id integer generated always as identity primary key,
        source bytea not null,
        place bytea not null,
        revision bigint not null default 0,
        bookmark bytea,
        checked_at timestamptz,
        failure bytea,
        used_at timestamptz not null default now(),
        sync_requested_at timestamptz
      );
      create unique index source_state_key on source_state (sha256(source), sha256(place));
      create table source_revision (
        source integer not null references source_state on delete cascade,
        revision bigint not null,
        written_at timestamptz not null default now(),
        primary key (source, revision)
      );
      create table version (
        source integer not null references source_state on delete cascade,
        name bytea not null,
        version bytea not null,
        revision bigint not null,
        document bytea
      );
      create unique index version_key on version (source, sha256(name), sha256(version));
      create index version_revision on version (source, revision);
      create index version_removed on version (source, revision) where document is null;
      create table publication (
        id bigint generated always as identity primary key,
        at timestamptz not null default now(),
        request_id bytea,
        provider bytea,
        issuer bytea,
        subject bytea,
        action text not null,
        name bytea not null,
        version bytea not null,
        before bytea,
        after bytea
      );
      create index publication_name on publication (sha256(name), id);
      create table state (
        key bytea not null,
        value bytea not null,
        changed_at timestamptz not null default now(),
        expires_at timestamptz
      );
      create index state_expires_at on state (expires_at) where expires_at is not null;
      create unique index state_key on state (sha256(key));
    `,
  },
  {
    does: 'created the tables of what is published',
    // A publication is an event. There was none before this level.
    sql: `
      create table published_source (
        id integer generated always as identity primary key,
        source bytea not null,
        revision bigint not null default 0,
        changed_at timestamptz not null default '-infinity'
      );
      create unique index published_source_key on published_source (sha256(source));
      create table published_version (
        source integer not null references published_source,
        name bytea not null,
        version bytea not null,
        revision bigint not null,
        state bytea not null,
        published_at timestamptz not null,
        updated_at timestamptz not null,
        status_changed_at timestamptz not null,
        server bytea not null
      );
      create unique index published_version_key on published_version (source, sha256(name), sha256(version));
      create index published_version_revision on published_version (source, revision);
      alter table publication
        add column source integer references published_source,
        add column revision bigint;
      create index publication_source on publication (source, sha256(name), id);
      create index publication_revision on publication (source, revision);
    `,
  },
  {
    does: 'bounded what is published: its bytes, its history, and what was deleted',
    // Events may be deleted, so a version has its publisher. A purged one has no document.
    sql: `
      alter table publication add column versions bytea;
      alter table published_source add column purged bigint not null default 0;
      alter table published_version
        alter column server drop not null,
        add column provider bytea,
        add column issuer bytea,
        add column subject bytea;
      update published_version set provider = publication.provider,
          issuer = publication.issuer, subject = publication.subject
        from publication
        where publication.source = published_version.source and publication.action = 'publish'
          and sha256(publication.name) = sha256(published_version.name)
          and publication.version = published_version.version;
      create index published_version_publisher on published_version (source, sha256(subject)) where server is not null;
    `,
  },
]

/** The level of this version. */
export const LEVEL: number = STEPS.length

/** The oldest level whose programs can use a database of this level. It rises with a step that takes something from them. */
export const READABLE_BY = 3

/** What this version uses, to tell its tables from others of the same names. */
export const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  schema_level: ['level', 'readable_by'],
  source_state: [
    ...['id', 'source', 'place', 'revision', 'bookmark', 'checked_at', 'failure', 'used_at'],
    'sync_requested_at',
  ],
  source_revision: ['source', 'revision', 'written_at'],
  version: ['source', 'name', 'version', 'revision', 'document'],
  publication: [
    ...['id', 'at', 'request_id', 'provider', 'issuer', 'subject'],
    ...['action', 'name', 'version', 'before', 'after', 'source', 'revision', 'versions'],
  ],
  published_source: ['id', 'source', 'revision', 'changed_at', 'purged'],
  published_version: [
    ...['source', 'name', 'version', 'revision', 'state', 'published_at', 'updated_at', 'status_changed_at'],
    ...['server', 'provider', 'issuer', 'subject'],
  ],
  state: ['key', 'value', 'changed_at', 'expires_at'],
}
