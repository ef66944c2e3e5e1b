import { refused } from './failure.js'
import { COLUMNS, LEVEL } from './tables.js'
import type { Statements } from './transaction.js'

/** What there is in the schema. */
export interface Inspected {
  /** 0 without tables. */
  readonly level: number
  /** Whether the server takes writes, as far as it says so beforehand. */
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
  // Of an older level, tables and columns may be missing.
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
