import type { Gateway } from 'sallyport'
import { within } from 'sallyport/toolkit'
import { CONNECT_LIMIT, Connector } from './connector.js'
import { databaseFailure, lacksRights, refused, tooSlow } from './failure.js'
import type { DatabaseOptions } from './options.js'
import { inspectSchema, LEVEL, READABLE_BY, STEPS } from './tables.js'
import { inTransaction, type Statements } from './transaction.js'

const LIMIT = 25_000

/** Runs for `sallyport migrate`. */
export async function migrateDatabase(
  options: DatabaseOptions,
  path: Gateway['path'],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const connector = await Connector.open(options, { path })
  try {
    return await migrateSchema(connector, options.schema, signal)
  } finally {
    connector.close()
  }
}

/** Brings the schema to the level of this version, in one transaction. Returns a line for each step. */
export async function migrateSchema(
  connector: Connector,
  schema: string,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const client = connector.client('direct')
  try {
    await within(CONNECT_LIMIT, client.connect(), tooSlow, signal)
    const { user, place } = connector.describe('direct')
    const options = { limit: LIMIT, signal }
    return await inTransaction(
      client,
      schema,
      (statements) => migrate(statements, schema, user),
      () => {},
      options,
    ).catch((error: unknown) => {
      if (!isMissingRight(error)) throw error
      const message = `the user ${user} may not create the schema or its tables in ${place}: use the URL of a user that may, for \`sallyport migrate\` alone, and grant the one that runs the gateway usage on the schema, and select, insert, update and delete on its tables`
      throw refused(`schema ${schema}`, message)
    })
  } catch (error) {
    throw signal?.aborted === true ? signal.reason : databaseFailure(error)
  } finally {
    void client.end().catch(() => {})
  }
}

async function migrate(statements: Statements, schema: string, user: string): Promise<string[]> {
  // All processes that start at once wait here for the first one.
  await statements.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `sallyport migrate ${schema}`,
  ])
  const { level } = await inspectSchema(statements, schema, user)
  if (level >= LEVEL) return []
  if (level === 0) await prepare(statements, schema)
  const lines: string[] = []
  for (const [index, { does, sql }] of STEPS.entries()) {
    if (index < level) continue
    await statements.query(sql)
    lines.push(`schema ${schema}: ${does} (level ${index + 1})`)
  }
  await statements.query('update schema_level set level = $1, readable_by = $2', [LEVEL, READABLE_BY])
  return lines
}

/** Makes the schema, and the table that holds the level of the others. */
async function prepare(statements: Statements, schema: string): Promise<void> {
  const [found] = await statements.query<{ usable: boolean; inhabited: boolean }>(
    `select has_schema_privilege(oid, 'usage') as usable,
       exists (select from pg_class where relnamespace = n.oid and relname = 'source_state') as inhabited
     from pg_namespace n where nspname = $1`,
    [schema],
  )
  // Without that right PostgreSQL reports that the schema does not exist.
  if (found?.usable === false) throw lacksRights()
  if (found?.inhabited === true) {
    const message =
      'its table schema_level has lost its row, which says of which level the other tables are: put it back from a backup'
    throw refused(`schema ${schema}`, message)
  }
  if (found === undefined) await statements.query(`create schema "${schema}"`)
  await statements.query(
    'create table if not exists schema_level (level integer not null, readable_by integer not null)',
  )
  await statements.query(
    'insert into schema_level (level, readable_by) select 0, 0 where not exists (select from schema_level)',
  )
}

const isMissingRight = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'DATABASE_RIGHTS'
