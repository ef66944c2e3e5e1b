import { hash } from 'node:crypto'
import type { RegistryView, ServerVersion } from 'sallyport'
import type { z } from 'zod'
import { listOf } from '#plugins/store/bytes.js'
import { CachedResponse } from './cached-response.js'
import type { deletedQuery, listQuery, versionParams, versionsQuery } from './queries.js'
import { wrongParameter } from './route.js'

export type Rendered = CachedResponse | 'unknown'

/** The most bytes of a page, which has at least one version of any size, and a cursor to the rest. */
const MOST_BYTES = 1024 * 1024

export async function listed(view: RegistryView, query: z.output<typeof listQuery>): Promise<Rendered> {
  const { cursor, limit, search, updated_since: updatedSince, version, include_deleted } = query
  // A client that follows changes needs the deletions.
  const includeDeleted = include_deleted || updatedSince !== undefined
  const wanted = { cursor, search, updatedSince, version, includeDeleted }
  const page = await view.list({ ...wanted, limit })
  if (page === undefined) throw wrongCursor()
  const parts = partsOfPage(page.versions)
  if (parts.length === page.versions.length) return listResponse(parts, page.nextCursor)
  // Only the catalogue knows the cursor that follows a version.
  const shorter = await view.list({ ...wanted, limit: parts.length })
  if (shorter === undefined) throw wrongCursor()
  return listResponse(parts, shorter.nextCursor)
}

export async function versionsOf(
  view: RegistryView,
  name: string,
  { cursor, include_deleted: includeDeleted }: z.output<typeof versionsQuery>,
): Promise<Rendered> {
  const all = await view.versions(name)
  const start = cursor === undefined ? 0 : all.findIndex(({ version }) => cursorAfter(version) === cursor) + 1
  if (cursor !== undefined && start === 0) throw wrongCursor()
  const rest = visible(all.slice(start), includeDeleted)
  if (rest.length === 0 && start === 0) return 'unknown'
  const parts = partsOfPage(rest)
  const last = parts.length < rest.length ? rest[parts.length - 1] : undefined
  return listResponse(parts, last && cursorAfter(last.version))
}

export async function oneVersion(
  view: RegistryView,
  { serverName, version }: z.output<typeof versionParams>,
  { include_deleted: includeDeleted }: z.output<typeof deletedQuery>,
): Promise<Rendered> {
  const versions = visible(await view.versions(serverName), includeDeleted)
  const wanted = versions.find((each) => (version === 'latest' ? each.isLatest : each.version === version))
  return wanted === undefined ? 'unknown' : new CachedResponse(wanted.json, wanted.tag)
}

// As JSON, since a version may have half of a surrogate pair.
const cursorAfter = (version: string): string => Buffer.from(JSON.stringify(version)).toString('base64url')

const wrongCursor = (): Error => wrongParameter('query', 'cursor', 'expected a nextCursor of this registry')

const visible = (versions: readonly ServerVersion[], includeDeleted: boolean): readonly ServerVersion[] =>
  includeDeleted ? versions : versions.filter(({ status }) => status !== 'deleted')

type Part = Pick<ServerVersion, 'json' | 'tag'>

/** The first versions that fit into a page. */
function partsOfPage(versions: readonly ServerVersion[]): readonly Part[] {
  const parts: Part[] = []
  let bytes = 0
  for (const { json, tag } of versions) {
    bytes += json.length
    if (bytes > MOST_BYTES && parts.length > 0) break
    parts.push({ json, tag })
  }
  return parts
}

const SERVERS = Buffer.from('{"servers":')

function listResponse(parts: readonly Part[], nextCursor: string | undefined): CachedResponse {
  const metadata = JSON.stringify({ count: parts.length, nextCursor })
  const list = listOf(parts.map(({ json }) => json))
  const body = Buffer.concat([SERVERS, list, Buffer.from(`,"metadata":${metadata}}`)])
  // The tags identify the versions, with a hundredth of the bytes.
  const tags = parts.map(({ tag }) => tag).join('')
  return new CachedResponse(body, hash('sha256', tags + metadata, 'base64url').slice(0, 22))
}
