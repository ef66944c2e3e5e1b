import { one } from '../capability.js'

export type ServerStatus = 'active' | 'deprecated' | 'deleted'

/** One version of a server. */
export interface ServerVersion {
  readonly name: string
  readonly version: string
  readonly status: ServerStatus
  readonly isLatest: boolean
  /** When it changed last, in milliseconds since the epoch. */
  readonly updatedAt?: number
  /** `{"server":...,"_meta":...}` as it is sent: JSON in UTF-8, its values as the source gave them. */
  readonly json: Uint8Array
  /** Identifies `json`: other bytes have another tag. */
  readonly tag: string
}

/** A query for versions, in the order of names and then from the newest version to the oldest. */
export interface ServerQuery {
  readonly limit: number
  /** The `nextCursor` of the page before this one. */
  readonly cursor?: string | undefined
  /** A part of the name, in any case. */
  readonly search?: string | undefined
  /** Milliseconds since the epoch: only versions that changed then or later. */
  readonly updatedSince?: number | undefined
  /** A version, or `latest`. */
  readonly version?: string | undefined
  readonly includeDeleted: boolean
}

export interface ServerPage {
  readonly versions: readonly ServerVersion[]
  readonly nextCursor?: string
}

/** The versions of one server, newest first. */
export type ServerVersions = readonly ServerVersion[]

/** A snapshot of a registry: it never changes, and after a change there is another object. */
export interface RegistryView {
  readonly name: string
  /** `undefined` for an invalid cursor. */
  list(query: ServerQuery): ServerPage | undefined | Promise<ServerPage | undefined>
  /**
   * The versions of a server, also deleted ones; empty when the server is unknown. With `source`, those that this
   * source gives, also where an earlier source hides them.
   */
  versions(serverName: string, source?: string): ServerVersions | Promise<ServerVersions>
  /** The source that gives the versions of a server; `undefined` when the server is unknown. */
  sourceOf?(serverName: string): string | undefined
}

/** The registries that the registry API serves. */
export interface ServerCatalogue {
  readonly names: readonly string[]
  /** The most bytes of a server document that it serves. */
  readonly maxDocumentBytes?: number
  /**
   * The current snapshot of a registry. `loading` until every source of it was read once: before, it could show a
   * server that a source of higher rank replaces.
   */
  registry(name: string): RegistryView | 'loading' | undefined
  /** The names of its sources, the highest rank first; empty for an unknown registry. */
  sourcesOf?(registry: string): readonly string[]
  /**
   * Reads a source. Resolves when this process serves the contents that the source had at the call; rejects when
   * that fails.
   */
  refresh?(source: string): Promise<void>
}

export const ServerCatalogue = one<ServerCatalogue>('server catalogue')
