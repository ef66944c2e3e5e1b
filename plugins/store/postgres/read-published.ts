import type { StoredContents } from 'sallyport'
import type { Statements } from '../database/database.js'
import { payloadOf } from '../publications/publication.js'
import {
  COLUMNS,
  findPublished,
  type PublishedSource,
  type VersionColumns,
  versionIn,
} from './publication-rows.js'

const PAGE = 200

/** What is published, or what changed since a revision; undefined when nothing did. Its payloads are read page by page. */
export async function readPublished(
  statements: Statements,
  source: string,
  since: number | undefined,
): Promise<StoredContents | undefined> {
  const found = await findPublished(statements, source)
  const { id, revision } = found ?? { id: 0, revision: 0 }
  if (revision === since) return undefined
  const isKnown = since === 0 || (since !== undefined && (await isRevision(statements, { id }, since)))
  await statements.query(
    `declare published no scroll cursor for
     select ${COLUMNS}, server from published_version where source = $1 and revision > $2`,
    [id, isKnown ? since : 0],
  )
  const kind = isKnown ? 'changes' : 'whole'
  return { kind, payloads: await pages(statements), revision, bookmark: undefined }
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

/** An array when there are no further ones to read. */
async function pages(statements: Statements): Promise<StoredContents['payloads']> {
  const next = async (): Promise<Uint8Array[]> => {
    const rows = await statements.query<VersionColumns & { readonly server: Buffer }>(
      `fetch ${PAGE} from published`,
    )
    return rows.map((row) => payloadOf(versionIn(row), row.server))
  }
  const first = await next()
  if (first.length < PAGE) return first
  return (async function* () {
    for (let page = first; page.length > 0; page = await next()) yield* page
  })()
}
