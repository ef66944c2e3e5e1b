import type { Statements } from '../database/database.js'
import { bytesOf, textOf } from '../text-bytes.js'

/** Names the rows of a source. Those of other places are used by processes with another configuration, side by side. */
export interface SourceKey {
  readonly name: string
  readonly place: string
}

/** What is stored of a source beside its versions. */
export interface SourceRow {
  readonly id: number
  /** 0 until the first write. */
  readonly revision: number
  readonly bookmark: string | undefined
  readonly failure: string | undefined
}

/** The condition for one source, whose parameters are those of `keyValues`. */
export const IS_SOURCE = 'sha256(source) = sha256($1) and sha256(place) = sha256($2)'

export const keyValues = ({ name, place }: SourceKey): [Buffer, Buffer] => [bytesOf(name), bytesOf(place)]

export async function findSource(statements: Statements, key: SourceKey): Promise<SourceRow | undefined> {
  const [row] = await statements.query<{
    id: number
    revision: number
    bookmark: Buffer | null
    failure: Buffer | null
  }>(`select id, revision, bookmark, failure from source_state where ${IS_SOURCE}`, keyValues(key))
  return row && { ...row, bookmark: fromColumn(row.bookmark), failure: fromColumn(row.failure) }
}

export async function ensureSource(statements: Statements, key: SourceKey): Promise<SourceRow> {
  const found = await findSource(statements, key)
  if (found !== undefined) return found
  await statements.query(
    'insert into source_state (source, place) values ($1, $2) on conflict do nothing',
    keyValues(key),
  )
  return ensureSource(statements, key)
}

/**
 * A revision is a time in milliseconds: a database whose backup was restored gives none a second time. Its row is updated
 * by the transaction that writes the rest, so all that it stands for is there once it is seen; a sequence would also count
 * what is committed later.
 */
export async function raiseRevision(
  statements: Statements,
  { id, revision }: SourceRow,
  next: number,
): Promise<void> {
  const raised = await statements.query(
    'update source_state set revision = $3, checked_at = now() where id = $1 and revision = $2 returning id',
    [id, revision, next],
  )
  if (raised.length === 0) throw new Error('another process wrote this source at the same time')
  await statements.query('insert into source_revision (source, revision) values ($1, $2)', [id, next])
}

export const revisionAfter = (revision: number): number => Math.max(revision + 1, Date.now())

export const toColumn = (value: string | undefined): Buffer | null =>
  value === undefined ? null : bytesOf(value)

const fromColumn = (bytes: Buffer | null): string | undefined => (bytes === null ? undefined : textOf(bytes))
