import type { PublicationEvent } from 'sallyport'
import type { Statements } from '../database/database.js'
import { bytesOf, textOf } from '../text-bytes.js'
import {
  type ActorColumns,
  actorBytes,
  actorIn,
  type PublishedSource,
  stateBytes,
  stateIn,
} from './publication-rows.js'

/** Adds what happened, and deletes the oldest events of its name beyond those that are kept. */
export async function insertEvent(
  statements: Statements,
  { id, revision, requestId }: PublishedSource,
  event: PublicationEvent,
  maxEvents: number | undefined,
): Promise<void> {
  const { at, action, actor, name, version, before, after, versions } = event
  await statements.query(
    `insert into publication (source, revision, at, action, provider, subject, issuer, name, after, request_id, version,
       before, versions)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    [
      ...[id, revision, at, action, ...actorBytes(actor), bytesOf(name), stateBytes(after), requestId],
      ...[bytesOf(version), before === undefined ? null : stateBytes(before)],
      versions === undefined ? null : Buffer.from(JSON.stringify(versions)),
    ],
  )
  if (maxEvents === undefined) return
  await statements.query(
    `delete from publication where source = $1 and sha256(name) = sha256($2) and id <=
       (select id from publication where source = $1 and sha256(name) = sha256($2) order by id desc limit 1 offset $3)`,
    [id, bytesOf(name), maxEvents],
  )
}

/** Whether the events of this request are there. */
export async function hasEvents(
  statements: Statements,
  { id, requestId }: PublishedSource,
  name: string,
): Promise<boolean> {
  const found = await statements.query(
    'select 1 from publication where source = $1 and sha256(name) = sha256($2) and request_id = $3 limit 1',
    [id, bytesOf(name), requestId],
  )
  return found.length > 0
}

/** Newest first. */
export async function findEvents(
  statements: Statements,
  source: string,
  name: string,
  limit: number,
): Promise<readonly PublicationEvent[]> {
  const rows = await statements.query<
    ActorColumns & {
      at: Date
      action: PublicationEvent['action']
      version: Buffer
      before: Buffer | null
      after: Buffer
      versions: Buffer | null
    }
  >(
    `select at, action, provider, subject, issuer, version, before, after, versions from publication
     where source = (select id from published_source where sha256(source) = sha256($1))
       and sha256(name) = sha256($2)
     order by id desc limit $3`,
    [bytesOf(source), bytesOf(name), limit],
  )
  return rows.map(({ at, action, version, before, after, versions, ...actor }) => ({
    ...{ name, version: textOf(version), at: at.toISOString(), action, actor: actorIn(actor) },
    ...(before !== null && { before: stateIn(before) }),
    after: stateIn(after),
    ...(versions !== null && { versions: JSON.parse(versions.toString()) }),
  }))
}
