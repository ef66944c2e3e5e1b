import type { QueryResultRow } from 'pg'
import type { StoredContents } from 'sallyport'
import { within } from 'sallyport/toolkit'
import { type Database, READ_LIMIT, type Statements } from '../database/database.js'
import { tooSlow } from '../database/failure.js'

type Read = (statements: Statements) => Promise<StoredContents | undefined>

/** Milliseconds for all documents of a source; a single statement has less. */
export const CONTENTS_LIMIT = 120_000

/**
 * Contents whose payloads come from an open transaction, which ends with the last payload or with its reader. Throws
 * when the database does not answer in time; the wait for other reads does not count.
 */
export async function openContents(
  database: Database,
  read: Read,
  signal: AbortSignal,
): Promise<StoredContents | undefined> {
  const giveUp = new AbortController()
  const late = (): Error => {
    const error = tooSlow()
    giveUp.abort(error)
    return error
  }
  const limits = { snapshot: true, limit: CONTENTS_LIMIT, signal: AbortSignal.any([signal, giveUp.signal]) }
  await database.longReads.begin(signal)
  const opened = new Promise<StoredContents | undefined>((resolve, reject) => {
    const work = async (statements: Statements): Promise<void> => {
      const contents = await read(statements)
      if (contents === undefined || Array.isArray(contents.payloads)) return resolve(contents)
      const { payloads, ended } = withEnd(contents.payloads)
      resolve({ ...contents, payloads })
      await within(CONTENTS_LIMIT, ended, late, limits.signal)
    }
    database
      .transaction(work, limits)
      .catch(reject)
      .finally(() => database.longReads.end())
  })
  return within(READ_LIMIT, opened, late, signal).catch((error: unknown) => {
    if (!signal.aborted) database.longReads.fail(error)
    throw error
  })
}

function withEnd(payloads: StoredContents['payloads']) {
  let end = (): void => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const each = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* payloads
    } finally {
      end()
    }
  }
  return { payloads: each(), ended }
}

// Few round trips, and bounded memory even for documents of the largest size.
const PAGE = 200

/** The rows of a query, read within the transaction, page by page. An array when one page has them all. */
export async function payloadsOf<Row extends QueryResultRow>(
  statements: Statements,
  query: string,
  values: readonly unknown[],
  payloadsIn: (rows: readonly Row[]) => readonly Uint8Array[],
): Promise<StoredContents['payloads']> {
  await statements.query(`declare found no scroll cursor for ${query}`, values)
  const next = () => statements.query<Row>(`fetch ${PAGE} from found`)
  const first = await next()
  if (first.length < PAGE) return payloadsIn(first)
  return (async function* () {
    for (let rows = first; rows.length > 0; rows = await next()) yield* payloadsIn(rows)
  })()
}
