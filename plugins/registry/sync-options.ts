import type { Log, SourceStore } from 'sallyport'
import type { Ingest } from './ingest.js'
import type { SourceContents } from './source-contents.js'
import type { SyncMeter } from './sync-meter.js'

/** The result of a source's last sync. A reload passes it on to the list of plugins that replaces this one. */
export interface LastSync {
  /** Both or neither: a bookmark is about exactly these contents. */
  result?: { readonly contents: SourceContents; readonly bookmark: string | undefined }
}

export interface SyncOptions {
  readonly log: Log
  readonly meter: SyncMeter
  readonly store: SourceStore | undefined
  readonly timeout: number
  readonly ingest: Ingest
  readonly last: LastSync
  /** Makes the contents of all sources what the registries serve. */
  readonly publish: () => Promise<void>
}
