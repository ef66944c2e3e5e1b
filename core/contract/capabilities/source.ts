import { many } from '../capability.js'

/** The input of a sync. */
export interface SyncContext {
  /** Aborted when the gateway stops, and when the sync has taken too long. */
  readonly signal: AbortSignal
  /** The `bookmark` of the last successful sync, also after a restart. */
  readonly bookmark: string | undefined
  /** How many server versions the registry has from this source. */
  readonly held: number
}

/** The result of a sync. */
export type FetchResult = { readonly kind: 'unchanged' } | FetchedDocuments

/**
 * The documents that a sync read. Payloads are JSON in UTF-8, each a server document, a list of them, or the form in
 * which a registry answers (`{"servers":[{"server":...,"_meta":...}]}`). The registry serves their values byte for
 * byte.
 */
export interface FetchedDocuments {
  /** `whole` replaces everything. `changes` adds to the contents of the registry, or replaces parts of them. */
  readonly kind: 'whole' | 'changes'
  readonly payloads: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
  /** The payloads' memory belongs to the registry from now on: it writes to it and transfers it to another thread. */
  readonly handedOver?: boolean
  /**
   * The date of documents that have no date of their own. Every process that reads the same contents has to give the
   * same one, such as the date of a commit and not of a file.
   */
  readonly asOf?: Date
  /** Names of the payloads in messages, such as paths of files, in the order of the payloads. */
  readonly labels?: readonly string[]
  /** The parts that the source could not read. The registry logs each and counts it as a refused document. */
  readonly unread?: readonly UnreadPart[]
  /** Called after the last payload: returns the bookmark for the next sync. It must hold no secret. */
  bookmark?(): string
}

/** A part of a source that could not be read, such as a malformed file. */
export interface UnreadPart {
  readonly name: string
  readonly reason: string
  /**
   * Names of the servers in it: the registry keeps their versions, unless the sync gives them. Undefined when
   * unknown: the registry keeps all versions.
   */
  readonly servers?: readonly string[] | undefined
}

/**
 * Reads server documents. It validates no document, has no schedule and catches no error: when it throws, the
 * registry stays as it was, and an `UpstreamError` may say when to try again.
 */
export interface Source {
  /** The name by which registries refer to it. */
  readonly name: string
  /**
   * The URL, file or repository, without secrets. Contents that were stored for another location are not used for
   * this one.
   */
  readonly location: string
  /** Milliseconds from one sync to the next; without it only `watch` and a request to the internal port cause one. */
  readonly every?: number | undefined
  /** It stores its documents by itself, where every process reads them: the registry stores no copy. */
  readonly stored?: boolean
  fetch(context: SyncContext): Promise<FetchResult>
  /** Calls `changed` whenever a sync makes sense, until the function that it returns is called. */
  watch?(changed: () => void): () => void
}

export const Source = many<Source>('source')
