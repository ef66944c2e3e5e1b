import { many } from '../capability.js'

/** Names one version of a server. */
export interface VersionKey {
  readonly name: string
  readonly version: string
}

/** A version as it is stored. */
export interface StoredDocument extends VersionKey {
  /**
   * `{"server":...,"_meta":...}` in UTF-8, with the dates that were decided when it was first stored. Its `isLatest` means
   * nothing: what is the latest version is decided when it is served.
   */
  readonly document: Uint8Array
}

/** What is stored of a source, or what changed of it since a revision. */
export interface StoredContents {
  readonly kind: 'whole' | 'changes'
  /** As a source gives them. */
  readonly payloads: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
  /** As with a source: the payloads' memory belongs to the registry from now on. */
  readonly handedOver?: boolean
  /** With `changes`: what is no longer there. */
  readonly removed?: readonly VersionKey[]
  /** Rises with each write; 0 in a store that only one process uses. */
  readonly revision: number
  /** Of the source, for the next sync. */
  readonly bookmark: string | undefined
  /** Why the last sync failed. */
  readonly failure?: string | undefined
}

/** What a sync changed. The lists may be read more than once. */
export interface ContentsChange {
  readonly changed: Iterable<StoredDocument>
  readonly removed: Iterable<VersionKey>
  /** Everything, after the change. */
  readonly all: Iterable<StoredDocument>
  /** Of what is stored this process cannot take all, so `changed` and `removed` lack something: `all` replaces it. */
  readonly replaces?: boolean
  readonly bookmark: string | undefined
}

/** The stored state of one source. */
export interface SourceStore {
  /**
   * What is stored, or what changed since a revision; `undefined` when there is nothing, or nothing newer, a report
   * included. A store may answer with the whole when it no longer knows the changes, and with revision 0 and no changes when
   * it was emptied. Throws when what is stored cannot be
   * used or reached; without a revision, a store that processes share may answer with the copy of this one then.
   */
  read(since: number | undefined, signal: AbortSignal): Promise<StoredContents | undefined>
  /** Stores a change, all of it or nothing, also when the process is killed. Returns the new revision. */
  write(change: ContentsChange, signal: AbortSignal): Promise<number>
  /** How processes share it; missing in a store that only one process uses. */
  readonly shared?: SharedSource
}

/**
 * A source whose state several processes share. One of them leads: it alone reads the source and writes. What it wrote is
 * served only afterwards, so that all processes serve the same bytes.
 */
export interface SharedSource {
  /**
   * Calls `work` whenever this process becomes the leader; its signal is aborted when it no longer is, and a write of a
   * former leader fails. Returns a function that steps down, and settles when another process may lead.
   */
  lead(work: (signal: AbortSignal) => void): () => Promise<void>
  /** Calls `changed` when there may be something new to read: soon after a write, and at the latest after 30 s. */
  watch(changed: () => void): () => void
  /** Stores how a sync of the leader ended that changed nothing: why it failed, or that it did not. */
  report(failure: string | undefined, signal: AbortSignal): Promise<void>
  /** Asks the leader, whichever process it is, to sync. */
  requestSync(): Promise<void>
  onSyncRequest(requested: () => void): () => void
  /** Stores what was read, for a start of this process while the store cannot be reached. */
  saveCopy(
    contents: Pick<ContentsChange, 'all' | 'bookmark'>,
    revision: number,
    signal: AbortSignal,
  ): Promise<void>
}

/** Where the catalogue stores the state of its sources. */
export interface CatalogueStore {
  /** `place`: of the source. What was stored for another place is not used for this one. */
  open(source: { readonly name: string; readonly place: string }): SourceStore
}

/** Without any, nothing is stored. */
export const CatalogueStore = many<CatalogueStore>('catalogue store', { atMostOne: true })
