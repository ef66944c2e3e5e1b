import { many } from '../capability.js'
import type { VersionKey } from './catalogue-store.js'
import type { ServerStatus } from './server-catalogue.js'

/** Who changes something. */
export interface PublicationActor {
  readonly provider: string
  readonly subject: string
  /** Whose token it was: by the name of a provider, tomorrow's configuration may mean another issuer. */
  readonly issuer?: string
}

export interface PublicationState {
  readonly status: ServerStatus
  readonly statusMessage?: string
}

/** A version that changed, and what it was before: missing for one that was not there. */
export interface ChangedVersion {
  readonly version: string
  readonly before?: PublicationState
}

/** One change of a name, of one version or of several at once, as it is stored. */
export interface PublicationEvent extends VersionKey, ChangedVersion {
  /** ISO 8601 in UTC, with milliseconds. */
  readonly at: string
  readonly action: 'publish' | 'status' | 'purge'
  readonly actor: PublicationActor
  readonly after: PublicationState
  /** Of a change of several versions, all of them, the first of which the event names. */
  readonly versions?: readonly ChangedVersion[]
}

/** Without one of the last three there is no such limit. */
export interface PublicationLimits {
  /** Of one name, those that were deleted or purged too. */
  readonly maxVersions: number
  /** Of one name: a store deletes older ones than these. It never forgets who published a version. */
  readonly maxEvents?: number
  /** Of all documents of the source, until they are purged. */
  readonly maxBytes?: number
  /** Of those among them that this actor published, of the same provider, issuer and subject. */
  readonly maxBytesOfActor?: number
}

/** What a purge gave back. */
export interface PurgedVersions {
  readonly versions: readonly string[]
  /** Of their documents. */
  readonly bytes: number
}

/** What is published, or what changed since a revision. */
export interface PublishedContents {
  readonly kind: 'whole' | 'changes' | 'unchanged'
  /** As with a source: `{"server":...,"_meta":...}` with the registry's dates and status; the server's JSON as it was sent. */
  readonly payloads: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
  /** Of all that was read, once it was read. */
  readonly revision: () => string
}

/**
 * What was published in one source. A change that was answered is durable: a kill at any moment leaves all of it or
 * nothing, and of several that race for one version exactly one wins. The row that says who did it is stored with it.
 */
export interface Publications {
  /** The file or database, without secrets. */
  readonly place: string
  /** Where processes share it, a start without the database answers with the copy of this one. */
  read(since: string | undefined, signal: AbortSignal): Promise<PublishedContents>
  /** Calls `changed` when there is something new to read, also from another process. */
  watch(changed: () => void): () => void
  /**
   * Adds a version. `server`: its JSON, in UTF-8. Throws a `Refusal` with 409 for a version that is there, also a deleted
   * or purged one (`VERSION_EXISTS`), for a name that has `maxVersions` already (`TOO_MANY_VERSIONS`), and for a document
   * for which there is no room: in the source (`SOURCE_FULL`), or among those of the actor (`PUBLISHER_FULL`).
   */
  publish(
    version: VersionKey & { readonly server: Uint8Array },
    actor: PublicationActor,
    limits: PublicationLimits,
  ): Promise<PublicationEvent>
  /**
   * Sets the status of a version, or of all versions of a name, and takes away the message unless one is given. Returns
   * one event, however many versions changed, and none where all are as they should be: then nothing is stored.
   * Throws a `Refusal` with 404 (`VERSION_UNKNOWN`).
   */
  setStatus(
    target: { readonly name: string; readonly version?: string | undefined },
    state: PublicationState,
    actor: PublicationActor,
    limits?: Pick<PublicationLimits, 'maxEvents'>,
  ): Promise<readonly PublicationEvent[]>
  /**
   * Deletes the documents of all versions of a name whose status is `deleted`, for ever. They are in no later read: one
   * since a revision before that is of the whole. Their versions stay taken, and have no status any more. Throws a
   * `Refusal` with 404 (`VERSION_UNKNOWN`). A store without it gives nothing back.
   */
  purge?(
    name: string,
    actor: PublicationActor,
    limits?: Pick<PublicationLimits, 'maxEvents'>,
  ): Promise<PurgedVersions>
  /** What happened to a name, newest first. */
  history(name: string, limit: number): Promise<readonly PublicationEvent[]>
  /** Who published a version, however long ago, also of a purged one; undefined for one that was never there. */
  publisher(version: VersionKey): Promise<PublicationActor | undefined>
}

/** Stores what people publish. */
export interface PublicationStore {
  /** `source`: its name. Called once for each, during the start; throws where the place is in use or cannot be used. */
  open(source: string): Publications | Promise<Publications>
}

export const PublicationStore = many<PublicationStore>('publication store', { atMostOne: true })
