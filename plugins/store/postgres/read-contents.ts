import type { StoredContents, VersionKey } from 'sallyport'
import type { Statements } from '../database/database.js'
import { textOf } from '../text-bytes.js'
import { payloadsOf } from './payloads-of.js'
import { findSource, type SourceKey, type SourceRow } from './source-row.js'

// Nobody drops what is served because the database was emptied: the leader writes it anew.
const EMPTIED: StoredContents = {
  kind: 'changes',
  payloads: [],
  removed: [],
  revision: 0,
  bookmark: undefined,
}

interface DocumentColumn {
  readonly document: Buffer
}

/** What is stored, or what changed since a revision. Its payloads are read within the transaction. */
export async function readContents(
  statements: Statements,
  key: SourceKey,
  since: number | undefined,
): Promise<StoredContents | undefined> {
  const row = await findSource(statements, key)
  const { revision = 0, bookmark, failure } = row ?? {}
  if (revision === (since ?? 0)) return undefined
  if (row === undefined || revision === 0) return EMPTIED
  const known = since !== undefined && (await isKnown(statements, row, since)) ? since : undefined
  const payloads = await payloadsOf<DocumentColumn>(
    statements,
    'select document from version where source = $1 and revision > $2 and document is not null',
    [row.id, known ?? 0],
    (rows) => (rows.length === 0 ? [] : [listOf(rows)]),
  )
  const removed = known === undefined ? [] : await removedSince(statements, row, known)
  const contents = { payloads, handedOver: true, revision, bookmark, failure }
  return known === undefined ? { kind: 'whole', ...contents } : { kind: 'changes', ...contents, removed }
}

/**
 * Whether all that changed after a revision is still there. It is not when tombstones were purged since, nor when the
 * revision is of a database whose backup was restored.
 */
async function isKnown(statements: Statements, { id }: SourceRow, revision: number): Promise<boolean> {
  const rows = await statements.query('select 1 from source_revision where source = $1 and revision = $2', [
    id,
    revision,
  ])
  return rows.length > 0
}

async function removedSince(
  statements: Statements,
  { id }: SourceRow,
  revision: number,
): Promise<VersionKey[]> {
  const rows = await statements.query<{ name: Buffer; version: Buffer }>(
    'select name, version from version where source = $1 and revision > $2 and document is null',
    [id, revision],
  )
  return rows.map(({ name, version }) => ({ name: textOf(name), version: textOf(version) }))
}

/** A JSON list. */
const listOf = (rows: readonly DocumentColumn[]): Buffer =>
  Buffer.concat([...rows.flatMap(({ document }, index) => [index === 0 ? OPEN : COMMA, document]), CLOSE])

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')
