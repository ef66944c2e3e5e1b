import type { QueryResultRow } from 'pg'
import type { StoredContents } from 'sallyport'
import type { Statements } from '../database/database.js'

// Few round trips, and no more memory than so many documents of the largest size take.
const PAGE = 200

/** What a query finds, read within the transaction, page by page. An array when there are no further ones to read. */
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
