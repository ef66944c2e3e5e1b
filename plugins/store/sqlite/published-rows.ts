import type { PublicationActor, PublicationEvent, PublicationState } from 'sallyport'
import type { PublishedVersion } from '../publications/publication.js'
import { textOf } from '../text-bytes.js'

/** A version that is published. Texts of others are bytes: a text of SQLite loses half surrogates. */
export interface PublishedRow {
  readonly id: number
  readonly name: Uint8Array
  readonly version: Uint8Array
  readonly status: PublicationState['status']
  readonly message: Uint8Array | null
  readonly publishedAt: string
  readonly updatedAt: string
  readonly statusChangedAt: string
  readonly server: Uint8Array
}

export interface EventRow {
  readonly name: Uint8Array
  readonly version: Uint8Array
  readonly at: string
  readonly action: PublicationEvent['action']
  readonly provider: Uint8Array
  readonly subject: Uint8Array
  readonly issuer: Uint8Array | null
  readonly statusBefore: PublicationState['status'] | null
  readonly messageBefore: Uint8Array | null
  readonly status: PublicationState['status']
  readonly message: Uint8Array | null
  /** JSON: of a change of several versions, each of them. */
  readonly versions: string | null
}

export interface ActorBytes {
  readonly provider: Uint8Array
  readonly subject: Uint8Array
  readonly issuer: Uint8Array | null
}

export const versionOf = (row: PublishedRow): PublishedVersion => {
  const { status, message, publishedAt, updatedAt, statusChangedAt } = row
  const dates = { publishedAt, updatedAt, statusChangedAt }
  return { name: textOf(row.name), version: textOf(row.version), state: stateOf(status, message), ...dates }
}

export const stateOf = (
  status: PublicationState['status'],
  message: Uint8Array | null,
): PublicationState => ({
  status,
  ...(message !== null && { statusMessage: textOf(message) }),
})

export const actorOf = ({ provider, subject, issuer }: ActorBytes): PublicationActor => ({
  ...{ provider: textOf(provider), subject: textOf(subject) },
  ...(issuer !== null && { issuer: textOf(issuer) }),
})

export const eventOf = (row: EventRow): PublicationEvent => ({
  ...{ name: textOf(row.name), version: textOf(row.version), at: row.at, action: row.action },
  actor: actorOf(row),
  ...(row.statusBefore !== null && { before: stateOf(row.statusBefore, row.messageBefore) }),
  after: stateOf(row.status, row.message),
  ...(row.versions !== null && { versions: JSON.parse(row.versions) }),
})
