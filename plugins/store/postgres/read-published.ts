import type { StoredContents } from 'sallyport'
import type { Statements } from '../database/database.js'
import { payloadOf } from '../publications/publication.js'
import { payloadsOf } from './payloads-of.js'
import {
  COLUMNS,
  findPublished,
  type PublishedSource,
  type VersionColumns,
  versionIn,
} from './publication-rows.js'

/** What is published, or what changed since a revision; undefined when nothing did. Its payloads are read within the transaction. */
export async function readPublished(
  statements: Statements,
  source: string,
  since: number | undefined,
): Promise<StoredContents | undefined> {
  const found = await findPublished(statements, source)
  const { id, revision, purged } = found ?? { id: 0, revision: 0, purged: 0 }
  if (revision === since) return undefined
  const isKnown =
    since !== undefined &&
    since >= purged &&
    (since === 0 || since === purged || (await isRevision(statements, { id }, since)))
  const payloads = await payloadsOf<VersionColumns & { readonly server: Buffer }>(
    statements,
    `select ${COLUMNS}, server from published_version where source = $1 and revision > $2 and server is not null`,
    [id, isKnown ? since : 0],
    (rows) => rows.map((row) => payloadOf(versionIn(row), row.server)),
  )
  return { kind: isKnown ? 'changes' : 'whole', payloads, revision, bookmark: undefined }
}

/** It is none of a database whose backup was restored since. */
async function isRevision(
  statements: Statements,
  { id }: Pick<PublishedSource, 'id'>,
  revision: number,
): Promise<boolean> {
  const rows = await statements.query(
    'select 1 from publication where source = $1 and revision = $2 limit 1',
    [id, revision],
  )
  return rows.length > 0
}
