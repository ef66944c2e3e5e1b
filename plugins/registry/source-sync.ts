import { type Fetched, type HealthState, type Log, type Source, UpstreamError } from 'sallyport'
import { Breath } from './breath.js'
import type { Found, Gatherer } from './gatherer.js'
import { type Holding, NOTHING } from './holding.js'
import { NO_REFUSALS, type Refusals } from './refusals.js'
import type { StateFile } from './state-file.js'
import type { SyncMeter } from './sync-meter.js'

/** What came of one sync. */
export type SyncResult =
  | { readonly outcome: 'changed' | 'unchanged'; readonly versions: number; readonly refused: number }
  | { readonly outcome: 'failed'; readonly reason: string; readonly retryAfter?: number }

/** What a source had when it was last read. It passes from a list to the one that takes its place. */
export interface LastRead {
  /** Both or neither: a bookmark stands for just what is held. */
  found?: { readonly holding: Holding; readonly bookmark: string | undefined }
}

export interface SyncOptions {
  readonly log: Log
  readonly meter: SyncMeter
  readonly state: StateFile | undefined
  readonly timeout: number
  readonly gatherer: Gatherer
  readonly last: LastRead
  /** Puts a new holding where it is served from. */
  readonly publish: () => Promise<void>
}

/** Keeps what one source has, and brings it up to date. One sync at a time; a failed one changes nothing. */
export class SourceSync {
  holding: Holding = NOTHING
  /** Whether there is anything to serve: synced once, or brought back from the disk. */
  loaded = false
  #bookmark: string | undefined
  #refused: Refusals = NO_REFUSALS
  #failure: string | undefined
  #running: Promise<SyncResult> | undefined
  #next: Promise<SyncResult> | undefined

  constructor(
    readonly source: Source,
    private readonly options: SyncOptions,
    private readonly signal: AbortSignal,
  ) {}

  /** Goes on with what the list before had in memory, if there was one. */
  async inherit(): Promise<boolean> {
    const { found } = this.options.last
    if (found === undefined) return false
    this.#bookmark = found.bookmark
    await this.accept(found.holding)
    return true
  }

  /** Brings back the last good state. A state that cannot be used is told and left alone. */
  async restore(): Promise<void> {
    const { log, state } = this.options
    try {
      const kept = await state?.read(new Breath(this.signal))
      if (kept === undefined) return
      const found = { kind: 'whole', payloads: [kept.payload], handedOver: true } as const
      const { holding = NOTHING } = await this.gather(found, this.signal)
      this.#bookmark = kept.bookmark
      await this.accept(holding)
      log.info({ source: this.source.name, versions: holding.size }, 'last good state of a source is back')
    } catch (error) {
      if (this.signal.aborted) return
      const reason = reasonOf(error)
      log.warn({ source: this.source.name, path: state?.path, reason }, 'kept state cannot be used')
    }
  }

  /** A sync that begins now or, when one is under way, right after it: that one may have read before the change. */
  sync(): Promise<SyncResult> {
    if (this.#running === undefined) return this.begin()
    this.#next ??= this.#running.then(() => {
      this.#next = undefined
      return this.begin()
    })
    return this.#next
  }

  /** Settles when no sync is under way. */
  get idle(): Promise<unknown> {
    return this.#running ?? Promise.resolve()
  }

  get health(): HealthState {
    const failure = this.#failure
    if (!this.loaded) return { status: 'down', reason: failure ?? 'not read yet' }
    if (failure !== undefined) return { status: 'degraded', reason: `last sync failed: ${failure}` }
    const { first, count } = this.#refused
    if (first === undefined) return { status: 'ok' }
    const documents = count === 1 ? '1 document was' : `${count} documents were`
    return { status: 'degraded', reason: `${documents} refused; ${first.name}: ${first.reason}` }
  }

  private begin(): Promise<SyncResult> {
    this.#running = this.run().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  private async run(): Promise<SyncResult> {
    const { meter } = this.options
    const { name } = this.source
    const since = performance.now()
    let result: SyncResult
    try {
      result = await this.limited((signal) => this.read(signal))
      this.recovered()
    } catch (error) {
      result = this.failed(error)
    }
    meter.synced(name, result.outcome, (performance.now() - since) / 1000, this.holding.size)
    return result
  }

  /** A source that does not listen to its signal is left behind, and what it still brings goes nowhere. */
  private async limited<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { timeout } = this.options
    this.signal.throwIfAborted()
    const limit = new AbortController()
    const ended = new Promise<never>((_, reject) => {
      limit.signal.addEventListener('abort', () => reject(limit.signal.reason), { once: true })
    })
    const stop = (): void => limit.abort(this.signal.reason)
    const late = (): void => limit.abort(new Error(`it took longer than ${timeout / 1000} s`))
    const timer = setTimeout(late, timeout)
    this.signal.addEventListener('abort', stop, { once: true })
    try {
      return await Promise.race([work(limit.signal), ended])
    } finally {
      clearTimeout(timer)
      this.signal.removeEventListener('abort', stop)
    }
  }

  private async read(signal: AbortSignal): Promise<SyncResult> {
    const { size: held } = this.holding
    const found = await this.source.fetch({ signal, bookmark: this.#bookmark, held })
    if (!isFetched(found)) throw new TypeError('the source answered neither "unchanged" nor payloads')
    if (found.kind === 'unchanged')
      return { outcome: 'unchanged', versions: held, refused: this.#refused.count }

    const { holding, refusals, bookmark } = await this.gather(found, signal)
    signal.throwIfAborted()
    this.tell(refusals)
    const changed = holding !== undefined
    if (changed || !this.loaded) await this.accept(holding ?? this.holding)
    if (changed || bookmark !== this.#bookmark) await this.keep(bookmark)
    this.#bookmark = bookmark
    this.options.last.found = { holding: this.holding, bookmark: this.resumable(bookmark) }
    return {
      outcome: changed ? 'changed' : 'unchanged',
      versions: this.holding.size,
      refused: refusals.count,
    }
  }

  private gather(found: Found, signal: AbortSignal) {
    return this.options.gatherer.gather(found, this.holding, this.#refused.list, signal)
  }

  private async accept(holding: Holding): Promise<void> {
    this.holding = holding
    this.loaded = true
    await this.options.publish()
  }

  private async keep(bookmark: string | undefined): Promise<void> {
    const { log, state } = this.options
    try {
      await state?.write(this.holding, this.resumable(bookmark), new Breath(this.signal))
    } catch (error) {
      if (this.signal.aborted) return
      log.warn({ path: state?.path, reason: reasonOf(error) }, 'the last good state cannot be kept')
    }
  }

  /** What was refused is not kept, so whoever comes after has to read the whole source to know it again. */
  private resumable(bookmark: string | undefined): string | undefined {
    return this.#refused.count === 0 ? bookmark : undefined
  }

  private tell(refusals: Refusals): void {
    const { log, meter } = this.options
    const { name: source } = this.source
    const { fresh, freshCount, count } = refusals
    for (const { name, reason } of fresh)
      log.warn({ source, document: name, reason }, 'a document was refused')
    if (freshCount > fresh.length) {
      log.warn({ source, more: freshCount - fresh.length }, 'further documents were refused')
    }
    this.#refused = refusals
    meter.refused(source, count)
  }

  private failed(error: unknown): SyncResult {
    const reason = reasonOf(error)
    // A source that is down for a night is told once, not at every attempt.
    if (reason !== this.#failure && !this.signal.aborted) {
      this.options.log.warn({ source: this.source.name, reason, err: error }, 'a source could not be read')
    }
    this.#failure = reason
    const retryAfter = error instanceof UpstreamError ? error.retryAfter : undefined
    return { outcome: 'failed', reason, ...(retryAfter !== undefined && { retryAfter }) }
  }

  private recovered(): void {
    if (this.#failure !== undefined) {
      this.options.log.info({ source: this.source.name }, 'a source can be read again')
    }
    this.#failure = undefined
  }
}

function isFetched(found: unknown): found is Fetched {
  const { kind, payloads }: { kind?: unknown; payloads?: unknown } = Object(found)
  return kind === 'unchanged' || ((kind === 'whole' || kind === 'changes') && Object(payloads) === payloads)
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const { code } = error as NodeJS.ErrnoException
  // Messages of the file system repeat the path, which the log has beside it.
  return error.name === 'Error' && code !== undefined ? `${code}` : error.message
}
