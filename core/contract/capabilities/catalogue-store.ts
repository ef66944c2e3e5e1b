import { many } from '../capability.js'

/** Names one version of a server. */
export interface VersionKey {
  readonly name: string
  readonly version: string
}

/** A version as it is stored. */
export interface StoredDocument extends VersionKey {
  /**
   * `{"server":...,"_meta":...}` in UTF-8, with the dates that the registry decided when it first stored the
   * version. Its `isLatest` means nothing: the registry decides at each response which version is the latest.
   */
  readonly document: Uint8Array
}

/** The stored contents of a source, or their changes since a revision. */
export interface StoredContents {
  readonly kind: 'whole' | 'changes'
  /** In the form in which a source gives them. */
  readonly payloads: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
  /** As with a source: the payloads' memory belongs to the registry from now on. */
  readonly handedOver?: boolean
  /** With `changes`: the versions that were removed. */
  readonly removed?: readonly VersionKey[]
  /** Rises with each write; 0 in a store that only one process uses. */
  readonly revision: number
  /** The bookmark of the source for the next sync. */
  readonly bookmark: string | undefined
  /** Why the last sync failed. */
  readonly failure?: string | undefined
}

/** The changes of one sync. A store may read the lists more than once. */
export interface ContentsChange {
  readonly changed: Iterable<StoredDocument>
  readonly removed: Iterable<VersionKey>
  /** All documents after the change. */
  readonly all: Iterable<StoredDocument>
  /**
   * This process cannot use all stored documents, so `changed` and `removed` are incomplete: `all` replaces the
   * stored contents.
   */
  readonly replaces?: boolean
  readonly bookmark: string | undefined
}

/** The stored state of one source. */
export interface SourceStore {
  /**
   * Returns the stored contents, or their changes since a revision; `undefined` when the store has nothing, or
   * nothing newer, not even a report. A store may return the whole when it no longer knows the changes, and revision
   * 0 without changes when it was emptied. It throws when the contents cannot be used or reached; a store that
   * processes share may then answer a read without a revision with the copy of this process.
   */
  read(since: number | undefined, signal: AbortSignal): Promise<StoredContents | undefined>
  /** Stores all of a change or none of it, also when the process is killed. Returns the new revision. */
  write(change: ContentsChange, signal: AbortSignal): Promise<number>
  /** How processes share it; missing in a store that only one process uses. */
  readonly shared?: SharedSource
}

/**
 * A source whose state several processes share. One of them is the leader: it alone reads the source and writes.
 * Every process serves a change only after the leader has stored it, so all serve the same bytes.
 */
export interface SharedSource {
  /**
   * Calls `work` whenever this process becomes the leader. The signal aborts when the process stops being the
   * leader; a write of a former leader fails. Returns a function that steps down; its promise settles when another
   * process may lead.
   */
  lead(work: (signal: AbortSignal) => void): () => Promise<void>
  /** Calls `changed` when there may be something new to read: soon after a write, and at the latest after 30 s. */
  watch(changed: () => void): () => void
  /**
   * Stores the result of a sync of the leader that changed nothing: why it failed, or `undefined` when it succeeded.
   */
  report(failure: string | undefined, signal: AbortSignal): Promise<void>
  /** Asks the leader, whichever process it is, to sync. */
  requestSync(): Promise<void>
  onSyncRequest(requested: () => void): () => void
  /** Stores a copy of the contents that this process has read, for a start while the store cannot be reached. */
  saveCopy(
    contents: Pick<ContentsChange, 'all' | 'bookmark'>,
    revision: number,
    signal: AbortSignal,
  ): Promise<void>
}

/** Stores the state of the sources of the catalogue. */
export interface CatalogueStore {
  /** `location` is that of the source. Contents that were stored for another location are not used for this one. */
  open(source: { readonly name: string; readonly location: string }): SourceStore
}

/** A list without one stores nothing. */
export const CatalogueStore = many<CatalogueStore>('catalogue store', { atMostOne: true })
