import type { Statements } from '../database/database.js'
import {
  ensureSource,
  IS_SOURCE,
  keyValues,
  raiseRevision,
  revisionAfter,
  type SourceKey,
  toColumn,
} from './source-row.js'

/**
 * Stores how a sync ended that changed nothing. Another failure than before is a revision of its own, so that all processes
 * read it. Returns the revision of a process that had `base`.
 */
export async function reportSync(
  statements: Statements,
  key: SourceKey,
  base: number,
  failure: string | undefined,
): Promise<number> {
  const row = await ensureSource(statements, key)
  await statements.query('update source_state set failure = $2, checked_at = now() where id = $1', [
    row.id,
    toColumn(failure),
  ])
  if (row.revision === 0 || row.failure === failure) return base
  const next = revisionAfter(row.revision)
  await raiseRevision(statements, row, next)
  return base === row.revision ? next : base
}

/** Noted, so that a leader finds it that was not told, or begins later. */
export async function requestSync(statements: Statements, key: SourceKey): Promise<void> {
  const { id } = await ensureSource(statements, key)
  await statements.query('update source_state set sync_requested_at = now() where id = $1', [id])
}

/** Whether a sync was requested since the last call, in whichever process. */
export async function takeSyncRequest(statements: Statements, key: SourceKey): Promise<boolean> {
  const taken = await statements.query(
    `update source_state set sync_requested_at = null where ${IS_SOURCE} and sync_requested_at is not null returning id`,
    keyValues(key),
  )
  return taken.length > 0
}

/** Keeps what is stored for this place of the source, and deletes what was stored for others and is in use no more. */
export async function keepPlace(statements: Statements, key: SourceKey): Promise<void> {
  await statements.query(
    `update source_state set used_at = now() where ${IS_SOURCE} and used_at < now() - interval '1 day'`,
    keyValues(key),
  )
  await statements.query(
    `delete from source_state where sha256(source) = sha256($1) and sha256(place) <> sha256($2)
     and used_at < now() - interval '30 days'`,
    keyValues(key),
  )
}
