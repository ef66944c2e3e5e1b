import { refused } from './failure.js'
import type { Statements } from './transaction.js'

/** The steps that bring the schema to a level: the first creates level 1. A released step never changes. */
export const STEPS: readonly { readonly does: string; readonly sql: string }[] = [
  {
    does: 'created the tables',
    // Text that others control is `bytea`: `text` refuses NUL, and depends on the encoding of the database. Names have
    // no limit, but indexed values have, so the indexes use digests. A purged version has no document.
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
      create table published_source (
        id integer generated always as identity primary key,
        source bytea not null,
        revision bigint not null default 0,
        purged bigint not null default 0,
        changed_at timestamptz not null default '-infinity'
      );
      create unique index published_source_key on published_source (sha256(source));
      create table published_version (
        id bigint generated always as identity primary key,
        source integer not null references published_source,
        name bytea not null,
        version bytea not null,
        revision bigint not null,
        actor bytea not null,
        facts bytea not null,
        server bytea
      );
      create unique index published_version_key on published_version (source, sha256(name), sha256(version));
      create index published_version_revision on published_version (source, revision);
      create index published_version_actor on published_version (source, sha256(actor)) where server is not null;
      create table publication (
        id bigint generated always as identity primary key,
        source integer not null references published_source,
        revision bigint not null,
        request_id bytea not null,
        name bytea not null,
        event bytea not null
      );
      create index publication_source on publication (source, sha256(name), id);
      create index publication_revision on publication (source, revision);
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
]

/** The level of this version. */
export const LEVEL: number = STEPS.length

/** The oldest level whose programs can use a database of this level. A step that breaks older programs raises it. */
export const READABLE_BY = 1

/** The columns that this version uses, which distinguish its tables from others of the same names. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  schema_level: ['level', 'readable_by'],
  source_state: [
    ...['id', 'source', 'place', 'revision', 'bookmark', 'checked_at', 'failure', 'used_at'],
    'sync_requested_at',
  ],
  source_revision: ['source', 'revision', 'written_at'],
  version: ['source', 'name', 'version', 'revision', 'document'],
  publication: ['id', 'source', 'revision', 'request_id', 'name', 'event'],
  published_source: ['id', 'source', 'revision', 'changed_at', 'purged'],
  published_version: ['id', 'source', 'name', 'version', 'revision', 'actor', 'facts', 'server'],
  state: ['key', 'value', 'changed_at', 'expires_at'],
}

/** The state of the schema. */
interface Inspected {
  /** 0 without tables. */
  readonly level: number
  /** Whether the server accepts writes, as far as its settings show. */
  readonly isWritable: boolean
}

interface Table {
  readonly name: string
  readonly columns: readonly string[]
  /** Select, insert, update and delete. */
  readonly usable: boolean
}

/** Throws a `ConfigError` when the schema holds something else, or this user may not use it. */
export async function inspectSchema(
  statements: Statements,
  schema: string,
  user: string,
): Promise<Inspected> {
  const place = `schema ${schema}`
  const tables = await tablesOf(statements, schema)
  const isWritable = await takesWrites(statements)
  if (tables.length === 0) return { level: 0, isWritable }

  const foreign = tables.find(({ name, columns }) =>
    COLUMNS[name]?.some((column) => !columns.includes(column)),
  )
  const hasLevel = tables.some(({ name }) => name === 'schema_level')
  if (!hasLevel || foreign?.name === 'schema_level') throw belongsToOthers(place, foreign ?? tables[0])
  const rights = tables.find(({ usable }) => !usable)
  if (rights !== undefined) {
    const message = `the user ${user} may not use the table ${rights.name}: expected usage on the schema, and select, insert, update and delete on its tables; the owner of the tables grants them`
    throw refused(place, message)
  }
  const [row] = await statements.query<{ level: number; readable_by: number }>(
    'select level, readable_by from schema_level',
  )
  const { level = 0, readable_by: readableBy = 0 } = row ?? {}
  if (readableBy > LEVEL) {
    const message = `its tables are of a newer version of sallyport (level ${level}; this version knows ${LEVEL}): use that version, or another schema`
    throw refused(place, message)
  }
  // An older level may lack tables and columns.
  if (foreign !== undefined && level >= LEVEL) throw belongsToOthers(place, foreign)
  return { level, isWritable }
}

async function takesWrites(statements: Statements): Promise<boolean> {
  const [row] = await statements.query<{ writable: boolean }>(
    "select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as writable",
  )
  return row?.writable === true
}

// The catalogue may be read without rights on the schema.
async function tablesOf(statements: Statements, schema: string): Promise<Table[]> {
  return statements.query<Table & Record<string, unknown>>(
    `select c.relname::text as name,
       array(select a.attname::text from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
       has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select') and has_table_privilege(c.oid, 'insert')
         and has_table_privilege(c.oid, 'update') and has_table_privilege(c.oid, 'delete') as usable
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relname = any($2) and c.relkind in ('r', 'p', 'v', 'm', 'f')`,
    [schema, Object.keys(COLUMNS)],
  )
}

function belongsToOthers(place: string, table: Table | undefined) {
  const message = `it has a table ${table?.name} that is not of sallyport: give another \`schema\`, which may not exist yet`
  return refused(place, message)
}
