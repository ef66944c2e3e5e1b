import type { HealthState, Log, Source, SourceStore, StoredContents } from 'sallyport'
import { Sequence, within } from 'sallyport/toolkit'
import type { Ingest, IngestInput } from './ingest.js'
import { NO_REFUSALS, type Refusals, resumable } from './refusals.js'
import { changeOf, documentsOf, EMPTY, type SourceContents } from './source-contents.js'
import {
  failedResult,
  isFetched,
  reasonOf,
  type SyncMeter,
  SyncReport,
  type SyncResult,
} from './sync-report.js'

/** The result of a source's last sync. A reload passes it to the list of plugins that replaces this one. */
export interface LastSync {
  /** Both or neither: a bookmark belongs to exactly these contents. */
  result?: { readonly contents: SourceContents; readonly bookmark: string | undefined }
}

export interface SyncOptions {
  readonly log: Log
  readonly meter: SyncMeter
  readonly store: SourceStore | undefined
  readonly timeout: number
  readonly ingest: Ingest
  readonly last: LastSync
  /** Makes the registries serve the contents of all sources. */
  readonly publish: () => Promise<void>
}

// A full disk may soon have room again, while the source may not change for weeks.
const SAVE_RETRY = 10_000

/** Keeps the contents of one source, and updates them. One sync runs at a time; a failed sync changes nothing. */
export class SourceSync {
  contents: SourceContents = EMPTY
  /** Whether the source was synced once, or restored. */
  loaded = false
  /** Set while this process may read the source. */
  private leading = AbortSignal.abort(new Error('another process reads this source'))
  /** The revision of the contents, when they are stored. */
  private revision: number | undefined
  private bookmark: string | undefined
  /** The last failure of the store. */
  private storeError: unknown
  /** The contents that this process's own store has saved. */
  private saved: SourceContents | undefined
  private readonly report: SyncReport
  private readonly work = new Sequence()
  private readonly saves = new Sequence()
  private saveTimer: NodeJS.Timeout | undefined
  /**
   * Starts a sync now or, when one is running, after it: the running one may have read the source before it changed.
   */
  readonly sync = coalesced(this.work, () => this.run())
  /** Restores the stored state; logs and returns `false` when it cannot be used. */
  readonly catchUp = coalesced(this.work, () => this.load())
  /** Saves the state for the next start; the served contents do not depend on it. Retries after a failure. */
  private readonly save = coalesced(this.saves, () => this.trySaving())

  constructor(
    readonly source: Source,
    private readonly options: SyncOptions,
    private readonly signal: AbortSignal,
  ) {
    this.report = new SyncReport(source.name, options.log, options.meter)
  }

  /** Restores the contents that were in memory before a reload; `false` when there were none. */
  async inherit(): Promise<boolean> {
    const { result } = this.options.last
    if (result === undefined) return false
    this.bookmark = result.bookmark
    await this.replaceContents(result.contents)
    // The last save may have failed, or the store may be another one. Shared contents are saved when they are read.
    if (this.shared === undefined) void this.save()
    return true
  }

  /** Lets this process read the source and store its contents until the signal is aborted. */
  lead(signal: AbortSignal): void {
    this.leading = signal
    signal.addEventListener('abort', () => this.leadEnded(), { once: true })
  }

  /** Settles when no sync is running. */
  get idle(): Promise<unknown> {
    return Promise.all([this.work.idle, this.saves.idle])
  }

  get health(): HealthState {
    return this.report.health(this.loaded)
  }

  /** Reads the source, and stores the result and the refused documents for the next leader. */
  private leadEnded(): void {
    // The list of plugins that replaces this one already reports these metrics.
    if (this.signal.aborted) return
    this.bookmark = resumable(this.bookmark, this.report.refused)
    this.report.leadEnded()
  }

  private get shared() {
    return this.options.store?.shared
  }

  private async load(): Promise<boolean> {
    const isFirst = !this.loaded
    try {
      await timeLimited(this.options.timeout, this.signal, (signal) => this.readStored(signal))
    } catch (error) {
      if (this.signal.aborted) return false
      if (this.shared === undefined) this.report.stateUnusable(error)
      else this.report.storeFailed(error)
      return false
    }
    const { log } = this.options
    if (isFirst && this.loaded)
      log.info({ source: this.source.name, versions: this.contents.size }, 'the last good state was restored')
    return true
  }

  private async readStored(signal: AbortSignal): Promise<void> {
    const { store } = this.options
    const stored = await store?.read(this.revision, signal)
    if (stored !== undefined) await this.take(stored, signal)
    // A change does not always show which refused document it replaces.
    if (stored?.kind === 'changes' && this.report.unusable.count > 0) {
      const whole = await store?.read(undefined, signal)
      if (whole !== undefined) await this.take(whole, signal)
    }
    this.report.storeRecovered()
  }

  private async take(stored: StoredContents, signal: AbortSignal): Promise<void> {
    const { bookmark, failure, ...given } = stored
    const { revision } = given
    const { contents, accepted, refusals } = await this.ingest(given, this.report.unusable, signal)
    signal.throwIfAborted()
    const isNew = revision !== this.revision
    this.report.refusedStored(refusals)
    // The bookmark of this process is as good as the stored one, and exists even while documents are refused.
    if (contents !== undefined || this.revision === undefined || refusals.count > 0)
      this.bookmark = resumable(bookmark, refusals)
    this.revision = revision
    this.report.stored(failure)
    this.report.failure = failure
    // Serving the previous contents is better than serving none.
    if (given.kind === 'whole' && accepted === 0 && refusals.count > 0) return
    if (contents !== undefined || !this.loaded) await this.replaceContents(contents ?? this.contents)
    this.remember()
    if (this.shared === undefined && refusals.count === 0) this.saved = this.contents
    if (isNew && this.shared !== undefined) void this.save()
  }

  private async run(): Promise<SyncResult> {
    const { leading } = this
    const since = performance.now()
    let result: SyncResult
    try {
      result = await timeLimited(this.options.timeout, leading, (signal) => this.read(signal))
      this.report.recovered()
    } catch (error) {
      result = await this.failed(error, leading)
    }
    this.options.meter.synced(this.source.name, result.outcome, (performance.now() - since) / 1000)
    return result
  }

  private async read(signal: AbortSignal): Promise<SyncResult> {
    const { shared } = this
    // Includes a write that the store took but whose response was lost.
    if (shared !== undefined) await this.stored(this.readStored(signal))
    // A store that was emptied has revision 0.
    if (shared !== undefined && this.loaded && !this.revision) {
      const change = changeOf(EMPTY, this.contents, resumable(this.bookmark, this.report.refused))
      this.revision = await this.stored(this.options.store?.write(change, signal))
    }
    const { size: held } = this.contents
    const fetched = await this.source.fetch({ signal, bookmark: this.bookmark, held })
    if (!isFetched(fetched)) throw new TypeError('the source returned neither "unchanged" nor payloads')
    if (fetched.kind === 'unchanged') {
      await this.stored(shared?.report(undefined, signal))
      return { outcome: 'unchanged', versions: held, refused: this.report.refused.count }
    }

    const {
      contents = this.contents,
      refusals,
      bookmark,
    } = await this.ingest(fetched, this.report.refused, signal)
    signal.throwIfAborted()
    const changed = contents !== this.contents
    const replaces = this.report.unusable.count > 0
    const mustStore = changed || bookmark !== this.bookmark || !this.loaded || replaces
    const change = { ...changeOf(this.contents, contents, resumable(bookmark, refusals)), replaces }
    // Shared contents are served only after they are stored, so that no other leader falls back to an earlier state.
    if (shared !== undefined) {
      let { revision } = this
      if (mustStore) revision = await this.stored(this.options.store?.write(change, signal))
      else await this.stored(shared.report(undefined, signal))
      // A former leader reads its own writes from the store, as the followers do.
      signal.throwIfAborted()
      this.revision = revision
    }
    this.report.refusedStored(NO_REFUSALS)
    this.report.refusals(refusals)
    this.bookmark = bookmark
    if (changed || !this.loaded) await this.replaceContents(contents)
    const saving = mustStore ? this.save() : undefined
    if (shared === undefined) await saving
    this.remember()
    return { outcome: changed ? 'changed' : 'unchanged', versions: contents.size, refused: refusals.count }
  }

  private ingest(given: IngestInput, { list: refused }: Refusals, signal: AbortSignal) {
    const { contents, shared, source } = this
    const before = { contents, refused, keepsDates: shared !== undefined, isStored: source.stored === true }
    return this.options.ingest.run(given, before, signal)
  }

  private async replaceContents(contents: SourceContents): Promise<void> {
    this.contents = contents
    this.loaded = true
    this.options.meter.holding(this.source.name, contents.size)
    await this.options.publish()
  }

  private async trySaving(): Promise<void> {
    clearTimeout(this.saveTimer)
    if (this.signal.aborted) return
    try {
      await this.writeState()
      this.report.saved()
    } catch (error) {
      if (this.signal.aborted) return
      this.report.notSaved(error)
      this.saveTimer = setTimeout(() => void this.save(), SAVE_RETRY).unref()
    }
  }

  private async writeState(): Promise<void> {
    const { contents, revision = 0, saved, shared, signal } = this
    const bookmark = resumable(this.bookmark, this.report.refused)
    if (shared !== undefined)
      return shared.saveCopy({ all: documentsOf(contents), bookmark }, revision, signal)
    const change = { ...changeOf(saved ?? EMPTY, contents, bookmark), replaces: saved === undefined }
    await this.options.store?.write(change, signal)
    this.saved = contents
  }

  /** The state for the list of plugins after a reload. */
  private remember(): void {
    const { contents, bookmark } = this
    this.options.last.result = { contents, bookmark: resumable(bookmark, this.report.refused) }
  }

  private async failed(error: unknown, leading: AbortSignal): Promise<SyncResult> {
    const reason = leading.aborted ? reasonOf(error) : this.report.failed(error)
    // An unreachable store would keep the caller of this sync waiting.
    if (!leading.aborted && error !== this.storeError) {
      const stored = (): void => this.report.stored(reason)
      await this.shared?.report(reason, leading).then(stored, () => {})
    }
    return failedResult(error, reason)
  }

  private async stored<T>(work: Promise<T> | undefined): Promise<T | undefined> {
    try {
      return await work
    } catch (error) {
      this.storeError = error
      throw error
    }
  }
}

/** Queued work. Callers that request it before it begins share one run; callers during a run share the next one. */
function coalesced<T>(sequence: Sequence, work: () => Promise<T>): () => Promise<T> {
  let next: Promise<T> | undefined
  return () => {
    next ??= sequence.run(() => {
      next = undefined
      return work()
    })
    return next
  }
}

/** Ends work after so many milliseconds, or with a signal. Does not wait for work that ignores its own signal. */
async function timeLimited<T>(
  milliseconds: number,
  outer: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer.throwIfAborted()
  const limit = new AbortController()
  const stop = (): void => limit.abort(outer.reason)
  outer.addEventListener('abort', stop, { once: true })
  const late = (): Error => {
    limit.abort(new Error(`it took longer than ${milliseconds / 1000} s`))
    return limit.signal.reason
  }
  try {
    return await within(milliseconds, work(limit.signal), late, outer)
  } finally {
    outer.removeEventListener('abort', stop)
  }
}
