import { one } from '../capability.js'

export type ServerStatus = 'active' | 'deprecated' | 'deleted'

/** One version of a server. */
export interface ServerVersion {
  readonly name: string
  readonly version: string
  readonly status: ServerStatus
  readonly isLatest: boolean
  /** `{"server":...,"_meta":...}` as it goes over the wire: JSON in UTF-8, its values as the source gave them. */
  readonly json: Uint8Array
  /** Stands for `json`: other bytes have another tag. */
  readonly tag: string
}

/** Which versions are wanted, in the order of names and then from the newest version to the oldest. */
export interface ServerQuery {
  readonly limit: number
  /** Where a page before this one ended, as its `nextCursor` said. */
  readonly cursor?: string | undefined
  /** A part of the name, in any case. */
  readonly search?: string | undefined
  /** Milliseconds since the epoch: only what was changed then or later. */
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

/** One registry at one moment: what it answers does not change, and another moment is another object. */
export interface RegistryView {
  readonly name: string
  /** `undefined` when the cursor was made by nobody here. */
  list(query: ServerQuery): ServerPage | undefined | Promise<ServerPage | undefined>
  /** Deleted ones too. Empty when the server is unknown. */
  versions(serverName: string): ServerVersions | Promise<ServerVersions>
}

/** What the registry API serves from. */
export interface ServerCatalogue {
  readonly names: readonly string[]
  /**
   * The registry as it is now, without asking anybody. `loading` until every source of it was read once: half a
   * registry could show a server that a source of higher rank replaces.
   */
  registry(name: string): RegistryView | 'loading' | undefined
}

export const ServerCatalogue = one<ServerCatalogue>('server catalogue')
