import { many } from '../capability.js'
import type { VersionKey } from './catalogue-store.js'
import type { ServerStatus } from './server-catalogue.js'

/** The person or program that makes a change. */
export interface PublicationActor {
  readonly provider: string
  readonly subject: string
  /**
   * The issuer of the token: after a change of the configuration, the name of the provider may stand for another
   * issuer.
   */
  readonly issuer?: string
}

export interface PublicationState {
  readonly status: ServerStatus
  readonly statusMessage?: string
}

/** A changed version, and its state before; `before` is missing for a new version. */
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
  /** For a change of several versions: all of them. The event itself names the first. */
  readonly versions?: readonly ChangedVersion[]
}

/** A missing limit does not apply. */
export interface PublicationLimits {
  /** Versions of one name, also deleted and purged ones. */
  readonly maxVersions: number
  /** Events of one name: a store deletes older ones. It never deletes the publisher of a version. */
  readonly maxEvents?: number
  /** Bytes of all documents of the source, until they are purged. */
  readonly maxBytes?: number
  /** Bytes of the documents of this actor, that is, of the same provider, issuer and subject. */
  readonly maxBytesOfActor?: number
}

/** The result of a purge. */
export interface PurgedVersions {
  readonly versions: readonly string[]
  /** Bytes of their documents. */
  readonly bytes: number
}

/** The published contents, or their changes since a revision. */
export interface PublishedContents {
  readonly kind: 'whole' | 'changes' | 'unchanged'
  /**
   * As with a source: `{"server":...,"_meta":...}` with the dates and the status of the registry, and the server's
   * JSON as its publisher sent it.
   */
  readonly payloads: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
  /** The revision of the contents. Callers call it after they have read all payloads. */
  readonly revision: () => string
}

/**
 * The publications of one source. A change is durable once its promise has resolved: a kill at any moment leaves all
 * of it or nothing. When several callers publish one version at once, exactly one of them wins. The store writes the
 * event, with its actor, together with the change.
 */
export interface Publications {
  /** The file or database, without secrets. */
  readonly location: string
  /** Where processes share the store, a start without the database answers with the copy of this process. */
  read(since: string | undefined, signal: AbortSignal): Promise<PublishedContents>
  /** Calls `changed` when there is something new to read, also from another process. */
  watch(changed: () => void): () => void
  /**
   * Adds a version. `server` is its JSON in UTF-8. Throws a `Refusal` with 409 for a version that exists, also a
   * deleted or purged one (`VERSION_EXISTS`), for a name that has `maxVersions` already (`TOO_MANY_VERSIONS`), and
   * for a document that exceeds the bytes of the source (`SOURCE_FULL`) or of the actor (`PUBLISHER_FULL`).
   */
  publish(
    version: VersionKey & { readonly server: Uint8Array },
    actor: PublicationActor,
    limits: PublicationLimits,
  ): Promise<PublicationEvent>
  /**
   * Sets the status of a version, or of all versions of a name, and removes the message unless one is given. Returns
   * one event, however many versions changed; none when no version has to change: then it stores nothing. Throws a
   * `Refusal` with 404 (`VERSION_UNKNOWN`).
   */
  setStatus(
    target: { readonly name: string; readonly version?: string | undefined },
    state: PublicationState,
    actor: PublicationActor,
    limits?: Pick<PublicationLimits, 'maxEvents'>,
  ): Promise<readonly PublicationEvent[]>
  /**
   * Deletes the documents of all versions of a name whose status is `deleted`, for ever. No later read returns them:
   * a read since a revision before the purge returns the whole. Their versions stay taken, and have no status any
   * more. Throws a `Refusal` with 404 (`VERSION_UNKNOWN`). A store without this function never frees their bytes.
   */
  purge?(
    name: string,
    actor: PublicationActor,
    limits?: Pick<PublicationLimits, 'maxEvents'>,
  ): Promise<PurgedVersions>
  /** The events of a name, newest first. */
  history(name: string, limit: number): Promise<readonly PublicationEvent[]>
  /** The publisher of a version, however old, also of a purged one; undefined for a version that never existed. */
  publisher(version: VersionKey): Promise<PublicationActor | undefined>
}

/** Stores what people publish. */
export interface PublicationStore {
  /**
   * `source` is the name of the source. Called once for each source, during the start; throws when the storage is in
   * use or cannot be used.
   */
  open(source: string): Publications | Promise<Publications>
}

export const PublicationStore = many<PublicationStore>('publication store', { atMostOne: true })
