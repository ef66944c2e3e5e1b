import type { PublicationState } from 'sallyport'
import { textOf } from '../text-bytes.js'
import { type ActorBytes, type EventRow, stateOf } from './published-rows.js'
import type { Statements } from './statements.js'

/** Who wants what to happen to a name. */
export interface WantedChange {
  readonly source: number
  readonly name: Uint8Array
  /** By the clock. */
  readonly now: string
  readonly actor: ActorBytes
}

export const EVENT = `name, version, at, action, provider, subject, issuer, status_before as statusBefore,
  message_before as messageBefore, status, message, versions`

export interface ChangedRow {
  readonly version: Uint8Array
  readonly status: PublicationState['status']
  readonly message: Uint8Array | null
}

/** Of several versions, what is stored of each; of one, the event itself has it. */
export const listOf = (changed: readonly ChangedRow[]): string | null =>
  changed.length === 1
    ? null
    : JSON.stringify(
        changed.map(({ version, status, message }) => ({
          version: textOf(version),
          before: stateOf(status, message),
        })),
      )

interface NewEvent extends Omit<EventRow, 'name' | 'statusBefore' | 'provider' | 'subject' | 'issuer'> {
  readonly before: PublicationState['status'] | null
}

/** Adds an event, and deletes the oldest of its name beyond those that are kept. */
export function insertEvent(
  sql: Statements,
  { source, name, actor }: WantedChange,
  { before, ...event }: NewEvent,
  maxEvents: number | undefined,
): EventRow {
  const [stored] = rows<EventRow>(
    sql(
      `insert into event (source, name, version, at, action, provider, subject, issuer, status_before, message_before,
         status, message, versions)
       values (:source, :name, :version, :at, :action, :provider, :subject, :issuer, :before, :messageBefore, :status,
         :message, :versions)
       returning ${EVENT}`,
    ).all({ source, name, ...actor, before, ...event }),
  )
  if (maxEvents !== undefined)
    sql(
      `delete from event where source = :source and name = :name and id <=
         (select id from event where source = :source and name = :name order by id desc limit 1 offset :maxEvents)`,
    ).run({ source, name, maxEvents })
  if (stored === undefined) throw new TypeError('an event was not stored')
  return stored
}

/** Whose columns are those of the type: SQLite does not know it. */
export const rows = <Row>(found: readonly Record<string, unknown>[]): readonly Row[] =>
  found as unknown as Row[]
