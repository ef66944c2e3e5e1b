import type { DocumentCount, FetchedDocuments, StoredContents } from 'sallyport'
import { Sequence } from 'sallyport/toolkit'
import { JsonScan } from './json-scan.js'
import { nextContents, type SyncInput, type SyncOutput } from './next-contents.js'
import { parsedInThread } from './parse-in-thread.js'
import { batchesOf } from './parse-job.js'
import { type DocumentLimits, documentsIn, limitsOf, withMetadata } from './parser.js'
import { collected, eachPayload, type Payloads } from './payloads.js'
import { PreviousVersions } from './previous-versions.js'
import { textOf } from './refusals.js'
import { EMPTY, type SourceContents } from './source-contents.js'
import { TimeSlice } from './time-slice.js'
import { UNKNOWN_DATE } from './version-text.js'

// About a thousand documents: in slices they are parsed before a thread has started.
const MIN_THREAD_BYTES = 1024 * 1024
// A document is validated in one go, and a value with several alternatives is tried as each of them.
const MAX_VALUES_IN_PROCESS = 500

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
 * Parses documents without delaying requests: a few in time slices, many in a thread of their own, whose garbage
 * collections do not stop the thread that serves. One thread runs at a time, which bounds their memory.
 */
export class Ingest {
  private readonly threads = new Sequence()

  private readonly limits: DocumentLimits

  constructor(maxDocumentBytes: number) {
    this.limits = limitsOf(maxDocumentBytes)
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
    const { accepted, refusals } = await this.taken(
      fetched,
      { contents: EMPTY, refused: [], keepsDates: false },
      signal,
    )
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
    const known = fetched.asOf === undefined || keepsDates ? previous.byDigest : new Map()
    const input = { kind, labels, unread, removed, asOf, keepsDates, refused }
    const hasMetadata = isStored === true || fetched.revision !== undefined
    const limits = hasMetadata ? withMetadata(this.limits) : this.limits
    const job = { payloads, limits }
    const inProcess = payloads.size < MIN_THREAD_BYTES && (await areLight(payloads, timeSlice))
    const output = await (inProcess
      ? nextContents(batchesOf(job, known, 1), input, previous, timeSlice)
      : this.threads.run(() =>
          nextContents(parsedInThread(job, [...known.keys()], signal), input, previous, timeSlice),
        ))
    return { ...output, bookmark }
  }
}

/** Whether each document is validated in less time than a request may wait. Malformed JSON is reported by the parser. */
async function areLight(payloads: Payloads, timeSlice: TimeSlice): Promise<boolean> {
  for (const bytes of eachPayload(payloads)) {
    const scan = new JsonScan(bytes)
    try {
      for (const span of documentsIn(scan)) {
        if (
          span.end - span.start >= MAX_VALUES_IN_PROCESS &&
          scan.measure(span).values > MAX_VALUES_IN_PROCESS
        )
          return false
        if (timeSlice.isOver) await timeSlice.yield()
      }
    } catch (error) {
      timeSlice.throwIfAborted()
      if (!(error instanceof SyntaxError)) throw error
    }
  }
  return true
}
