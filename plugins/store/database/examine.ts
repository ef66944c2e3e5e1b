import type { Client } from 'pg'
import { type Examination, GatewayError } from 'sallyport'
import { within } from 'sallyport/toolkit'
import { Connector, type Route } from './connector.js'
import { databaseFailure, refusesWrites, tooSlow } from './failure.js'
import type { DatabaseOptions } from './options.js'
import { isTransactionPooler } from './session.js'
import { inspectSchema, LEVEL } from './tables.js'
import { inTransaction } from './transaction.js'

const LIMIT = 10_000
// Each process checks tokens by its own clock, and dates come from the database's clock.
const CLOCK_TOLERANCE = 5_000

interface Place {
  readonly examination: Examination
  readonly options: DatabaseOptions
  readonly connector: Connector
}

const steps: readonly (readonly [check: string, advice: string, examine: (place: Place) => Promise<void>])[] =
  [
    ['database', 'start the server, or correct the URL', examineServer],
    ['schema', 'then try again', examineSchema],
    ['locks', 'correct directUrl', examineLocks],
  ]

/** Checks that the database can be reached and used, and that locks hold there. It changes nothing. */
export async function examineDatabase(examination: Examination, options: DatabaseOptions): Promise<void> {
  const { path, wrong } = examination
  const connector = await Connector.open(options, { path }).catch(databaseFailure)
  if (connector instanceof GatewayError)
    return wrong('database', connector.code, connector.message, 'correct the options')
  try {
    for (const [check, advice, examine] of steps) {
      try {
        await within(LIMIT, examine({ examination, options, connector }), tooSlow)
      } catch (error) {
        const { code, message } = databaseFailure(error)
        wrong(check, code === 'CONFIG_INVALID' ? 'DATABASE_UNUSABLE' : code, message, advice)
        if (check === 'database') return
      }
    }
  } finally {
    connector.close()
  }
}

async function connected(connector: Connector, route: Route): Promise<Client> {
  const client = connector.client(route)
  await client.connect()
  return client
}

async function examineServer({ examination: { ok, warning }, connector }: Place): Promise<void> {
  const client = await connected(connector, 'pooled')
  const { place, isPlain } = connector.describe('pooled')
  const before = Date.now()
  const text = `select current_setting('server_version') as version, extract(epoch from clock_timestamp())::float8 * 1000 as now`
  const [row] = (await client.query<{ version: string; now: number }>(text)).rows
  ok('database', `${place}: PostgreSQL ${row?.version}`)
  if (isPlain) {
    const advice = 'give caCertPath, or `?sslmode=verify-full` in the URL'
    warning('TLS', 'DATABASE_PLAIN', 'what is sent to the database crosses a network in plain text', advice)
  }
  const difference = (row?.now ?? before) - (before + Date.now()) / 2
  if (Math.abs(difference) > CLOCK_TOLERANCE) {
    const detail = `its clock is ${Math.round(Math.abs(difference) / 1000)} s ${difference > 0 ? 'ahead of' : 'behind'} that of this machine`
    warning('clock', 'DATABASE_CLOCK', detail, 'let both follow the same time servers')
  } else ok('clock', 'the same as on this machine')
}

async function examineSchema({ examination, options, connector }: Place): Promise<void> {
  const { ok, wrong, warning } = examination
  const { schema, migrate } = options
  const client = await connected(connector, 'pooled')
  const { user } = connector.describe('pooled')
  const { level, isWritable } = await inTransaction(
    client,
    schema,
    (statements) => inspectSchema(statements, schema, user),
    () => {},
  )
  if (!isWritable) {
    const { code, message } = refusesWrites()
    wrong('writes', code, message, 'give the URL of a server that takes writes')
  }
  const detail = `level ${level} of schema ${schema}; this version has level ${LEVEL}`
  if (level === LEVEL) return ok('schema', detail)
  const advice = 'run `sallyport migrate --config FILE`'
  if (level > LEVEL) return ok('schema', `${detail}, and can use it`)
  if (migrate) warning('schema', 'DATABASE_NOT_MIGRATED', detail, 'the next start migrates it')
  else wrong('schema', 'DATABASE_NOT_MIGRATED', detail, advice)
}

async function examineLocks({ examination: { ok, wrong }, connector }: Place): Promise<void> {
  const [first, second] = [await connected(connector, 'direct'), await connected(connector, 'direct')]
  if (!(await isTransactionPooler(first, second))) return ok('locks', 'they last as long as their connection')
  const detail = 'a pooler in transaction mode is in between, where locks and notifications are lost'
  const advice = 'give in `directUrl` the URL of the server itself, or of a pooler in session mode'
  wrong('locks', 'DATABASE_POOLER', detail, advice)
}
