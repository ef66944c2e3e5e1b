import type { DocumentCount, FetchedDocuments, StoredContents } from 'sallyport'
import { Sequence } from 'sallyport/toolkit'
import { nextContents, type SyncInput, type SyncOutput } from './next-contents.js'
import { type DocumentLimits, limitsOf, withMetadata } from './parser.js'
import { ParserThread } from './parser-thread.js'
import { collected } from './payloads.js'
import { textOf } from './refusals.js'
import { EMPTY, PreviousVersions, type SourceContents } from './source-contents.js'
import { UNKNOWN_DATE } from './stored-version.js'
import { TimeSlice } from './time-slice.js'

// About a thousand documents.
const LARGE = 1024 * 1024

const UNKNOWN = new Date(UNKNOWN_DATE)

/** What a source gave, or a store, which has revisions. */
export type Given = FetchedDocuments & Pick<Partial<StoredContents>, 'removed' | 'revision'>

/** What the syncs of a source before this one left. */
export interface SyncedBefore extends Pick<SyncInput, 'refused' | 'keepsDates'> {
  readonly contents: SourceContents
  /** It gives what it stored, with the metadata of the registry around it. */
  readonly isStored?: boolean
}

/**
 * Takes what sources give: it is parsed in a thread. Large sources are parsed one after the other, which bounds their
 * memory, and small ones do not wait for them.
 */
export class Ingest {
  private readonly thread = new ParserThread()
  private readonly large = new Sequence()
  private readonly small = new Sequence()
  private readonly limits: DocumentLimits

  constructor(maxDocumentBytes: number) {
    this.limits = limitsOf(maxDocumentBytes)
  }

  /** Prepares for the first source. */
  start(): void {
    this.thread.start()
  }

  close(): Promise<void> {
    return this.thread.close()
  }

  /** The next contents of a source; undefined when nothing changed. */
  async run(
    fetched: Given,
    before: SyncedBefore,
    signal: AbortSignal,
  ): Promise<SyncOutput & { readonly bookmark: string | undefined }> {
    const output = await this.taken(fetched, before, signal)
    const { accepted, refusals } = output
    const { count, first } = refusals
    // A leader replaces what processes share, even where it can take none of it; and what is published here can only be
    // mended by writing to it.
    const isOwn = before.isStored === true || (before.keepsDates && fetched.revision !== undefined)
    if (accepted === 0 && count > 0 && fetched.kind === 'whole' && !isOwn)
      throw new Error(`none of its ${count} documents can be taken; ${textOf(first)}`)
    return output
  }

  /** Parses what a source without previous contents gave, and drops it. */
  async count(fetched: FetchedDocuments, signal: AbortSignal): Promise<DocumentCount> {
    const before = { contents: EMPTY, refused: [], keepsDates: false }
    const { accepted, refusals } = await this.taken(fetched, before, signal)
    return { accepted, refused: refusals.count, first: refusals.fresh }
  }

  private async taken(
    fetched: Given,
    { contents, refused, keepsDates, isStored }: SyncedBefore,
    signal: AbortSignal,
  ): Promise<SyncOutput & { readonly bookmark: string | undefined }> {
    const timeSlice = new TimeSlice(signal)
    const { kind, labels, unread, removed } = fetched
    const asOf = fetched.asOf ?? (keepsDates ? new Date() : UNKNOWN)
    const payloads = await collected(fetched, timeSlice)
    const bookmark = fetched.bookmark?.()
    const previous = await PreviousVersions.of(contents, timeSlice)
    // The same bytes may get another date from their source.
    const known = fetched.asOf === undefined || keepsDates ? [...previous.byDigest.keys()] : []
    const hasMetadata = isStored === true || fetched.revision !== undefined
    const limits = hasMetadata ? withMetadata(this.limits) : this.limits
    const job = { payloads, limits, known: Buffer.from(known.join(''), 'latin1') }
    const input = { kind, labels, unread, removed, asOf, keepsDates, refused }
    const isLarge = payloads.size > LARGE
    const output = await (isLarge ? this.large : this.small).run(() =>
      nextContents(this.thread.batches(job, isLarge, signal), input, previous, timeSlice),
    )
    return { ...output, bookmark }
  }
}
