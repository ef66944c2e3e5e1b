import { many } from '../capability.js'
import type { VersionKey } from './catalogue-store.js'
import type { ServerStatus } from './server-catalogue.js'

/** Who changes something. */
export interface PublicationActor {
  readonly provider: string
  readonly subject: string
}

export interface PublicationState {
  readonly status: ServerStatus
  readonly statusMessage?: string
}

/** One change of one version, as it is stored for ever. */
export interface PublicationEvent extends VersionKey {
  /** ISO 8601 in UTC, with milliseconds. */
  readonly at: string
  readonly action: 'publish' | 'status'
  readonly actor: PublicationActor
  /** Missing for a version that was not there. */
  readonly before?: PublicationState
  readonly after: PublicationState
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
   * one (`VERSION_EXISTS`), and for a name that has `maxVersions` already (`TOO_MANY_VERSIONS`).
   */
  publish(
    version: VersionKey & { readonly server: Uint8Array },
    actor: PublicationActor,
    limits: { readonly maxVersions: number },
  ): Promise<PublicationEvent>
  /**
   * Sets the status of a version, or of all versions of a name, and takes away the message unless one is given. Returns
   * what changed; nothing is stored for what is as it should be. Throws a `Refusal` with 404 (`VERSION_UNKNOWN`).
   */
  setStatus(
    target: { readonly name: string; readonly version?: string | undefined },
    state: PublicationState,
    actor: PublicationActor,
  ): Promise<readonly PublicationEvent[]>
  /** What happened to a name, newest first. */
  history(name: string, limit: number): Promise<readonly PublicationEvent[]>
  /** Who published a version, however long ago; undefined for one that is not there. */
  publisher(version: VersionKey): Promise<PublicationActor | undefined>
}

/** Stores what people publish. */
export interface PublicationStore {
  /** `source`: its name. Called once for each, during the start; throws where the place is in use or cannot be used. */
  open(source: string): Publications | Promise<Publications>
}

export const PublicationStore = many<PublicationStore>('publication store', { atMostOne: true })
