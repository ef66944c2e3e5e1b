import type { TestContext } from 'node:test'
import type { QueryResultRow } from 'pg'
import { recordedLog } from '#kit/booted.js'
import { Database, type TransactionOptions } from '#plugins/store/database/database.js'
import { databaseOptions } from '#plugins/store/database/options.js'

/** A database as a plugin opens it, with its log and its measures. Closed when the test ends. */
export async function opening(t: TestContext, options: Readonly<Record<string, unknown>>) {
  const { log, lines, scrubber } = recordedLog()
  const measured: { readonly name: string; readonly value: number; readonly labels: object | undefined }[] =
    []
  const instrument = (name: string) => (value: number, labels?: object) =>
    void measured.push({ name, value, labels })
  const meter = { counter: instrument, gauge: instrument, histogram: instrument }
  const database = await Database.open(databaseOptions.parse(options), {
    log,
    scrubber,
    path: (path) => path,
  })
  database.measureBy(meter)
  t.after(() => database.close())
  return { database, lines, measured }
}

/** One that is migrated, and started. */
export async function started(t: TestContext, options: Readonly<Record<string, unknown>>) {
  const opened = await opening(t, { migrate: true, ...options })
  await opened.database.start()
  return opened
}

/** One statement. */
export const asking = <Row extends QueryResultRow>(
  database: Database,
  text: string,
  values?: readonly unknown[],
  options?: TransactionOptions,
): Promise<Row[]> => database.transaction((statements) => statements.query<Row>(text, values), options)
