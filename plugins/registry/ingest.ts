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

// Bytes of about a thousand documents.
const LARGE = 1024 * 1024

const UNKNOWN = new Date(UNKNOWN_DATE)

/** The payloads that a source gave, or a store, which adds revisions. */
export type IngestInput = FetchedDocuments & Pick<Partial<StoredContents>, 'removed' | 'revision'>

/** The results of the earlier syncs of a source. */
export interface SyncedBefore extends Pick<SyncInput, 'refused' | 'keepsDates'> {
  readonly contents: SourceContents
  /** Whether the source gives stored documents, with the metadata of the registry around them. */
  readonly isStored?: boolean
}

/**
 * Parses the payloads of sources in a thread. It parses large sources one after the other, which bounds their memory;
 * small sources do not wait for them.
 */
export class Ingest {
  private readonly thread = new ParserThread()
  private readonly large = new Sequence()
  private readonly small = new Sequence()
  private readonly limits: DocumentLimits

  constructor(maxDocumentBytes: number) {
    this.limits = limitsOf(maxDocumentBytes)
  }

  /** Starts a thread for the first source. */
  start(): void {
    this.thread.start()
  }

  close(): Promise<void> {
    return this.thread.close()
  }

  /** Returns the next contents of a source; undefined when nothing changed. */
  async run(
    fetched: IngestInput,
    before: SyncedBefore,
    signal: AbortSignal,
  ): Promise<SyncOutput & { readonly bookmark: string | undefined }> {
    const output = await this.merge(fetched, before, signal)
    const { accepted, refusals } = output
    const { count, first } = refusals
    // A leader replaces the contents that processes share, even when it refuses all of the old ones; and publishers can
    // mend published documents only by writing to the source.
    const isOwn = before.isStored === true || (before.keepsDates && fetched.revision !== undefined)
    if (accepted === 0 && count > 0 && fetched.kind === 'whole' && !isOwn)
      throw new Error(`all of its ${count} documents are refused; ${textOf(first)}`)
    return output
  }

  /** Parses the payloads of a source without previous contents, and drops the result. */
  async count(fetched: FetchedDocuments, signal: AbortSignal): Promise<DocumentCount> {
    const before = { contents: EMPTY, refused: [], keepsDates: false }
    const { accepted, refusals } = await this.merge(fetched, before, signal)
    return { accepted, refused: refusals.count, first: refusals.fresh }
  }

  private async merge(
    fetched: IngestInput,
    { contents, refused, keepsDates, isStored }: SyncedBefore,
    signal: AbortSignal,
  ): Promise<SyncOutput & { readonly bookmark: string | undefined }> {
    const timeSlice = new TimeSlice(signal)
    const { kind, labels, unread, removed } = fetched
    const asOf = fetched.asOf ?? (keepsDates ? new Date() : UNKNOWN)
    const payloads = await collected(fetched, timeSlice)
    const bookmark = fetched.bookmark?.()
    const previous = await PreviousVersions.of(contents, timeSlice)
    // A source may give the same bytes with another date.
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
