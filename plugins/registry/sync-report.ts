import { type FetchResult, type HealthState, type Log, type Meter, UpstreamError } from 'sallyport'
import { NO_REFUSALS, type Refusals, reasonIn, textOf } from './refusals.js'

export type SyncResult =
  | { readonly outcome: 'changed' | 'unchanged'; readonly versions: number; readonly refused: number }
  | FailedSync

interface FailedSync extends Partial<Pick<UpstreamError, 'statusCode' | 'retryAfter'>> {
  readonly outcome: 'failed'
  readonly reason: string
}

export function failedResult(error: unknown, reason: string): FailedSync {
  const { statusCode, retryAfter } = error instanceof UpstreamError ? error : {}
  return {
    outcome: 'failed',
    reason,
    ...(statusCode !== undefined && { statusCode }),
    ...(retryAfter !== undefined && { retryAfter }),
  }
}

const STATUSES = [502, 503, 504] as const

/** The result for the caller that requested this sync. */
export const syncFailure = ({ reason, retryAfter, statusCode }: FailedSync): UpstreamError =>
  new UpstreamError('SYNC_FAILED', reason, {
    statusCode: STATUSES.find((each) => each === statusCode) ?? 502,
    ...(retryAfter !== undefined && { retryAfter }),
  })

export function isFetched(result: unknown): result is FetchResult {
  const { kind, payloads }: { kind?: unknown; payloads?: unknown } = Object(result)
  return kind === 'unchanged' || ((kind === 'whole' || kind === 'changes') && Object(payloads) === payloads)
}

/** The last failures of a source, for the log, the metrics and the health. A failure that persists is logged once. */
export class SyncReport {
  refused: Refusals = NO_REFUSALS
  /** Why this process refuses stored documents. */
  unusable: Refusals = NO_REFUSALS
  /** Why the last sync failed, here or at the leader. */
  failure: string | undefined
  /** The same as all processes read it. */
  private storedFailure: string | undefined
  private storeFailure: string | undefined
  private saveFailure: string | undefined

  constructor(
    private readonly source: string,
    private readonly log: Log,
    private readonly meter: SyncMeter,
  ) {}

  health(loaded: boolean): HealthState {
    const failure = this.failure === undefined ? this.storeFailure : `last sync failed: ${this.failure}`
    const refusal = this.refusal()
    if (!loaded)
      return { status: 'down', reason: this.failure ?? this.storeFailure ?? refusal ?? 'not read yet' }
    const reason = failure ?? refusal
    return reason === undefined ? { status: 'ok' } : { status: 'degraded', reason }
  }

  private refusal(): string | undefined {
    const { count } = this
    const first = this.refused.first ?? this.unusable.first
    if (first === undefined) return undefined
    const documents = count === 1 ? '1 document was' : `${count} documents were`
    return `${documents} refused; ${textOf(first)}`
  }

  private get count(): number {
    return this.refused.count + this.unusable.count
  }

  refusals(refusals: Refusals): void {
    this.refused = refusals
    this.logRefused(refusals, 'a document was refused')
  }

  refusedStored(refusals: Refusals): void {
    this.unusable = refusals
    this.logRefused(refusals, 'a stored document was refused')
  }

  private logRefused({ fresh, freshCount }: Refusals, message: string): void {
    const { source } = this
    for (const each of fresh) this.log.warn({ source, document: each.name, reason: reasonIn(each) }, message)
    if (freshCount > fresh.length)
      this.log.warn({ source, more: freshCount - fresh.length }, 'further documents were refused')
    this.meter.refused(source, this.count)
  }

  /** Returns the reason. */
  failed(error: unknown): string {
    const reason = reasonOf(error)
    if (reason !== this.failure)
      this.log.warn({ source: this.source, reason, err: error }, 'a source could not be read')
    this.failure = reason
    return reason
  }

  recovered(): void {
    if (this.failure !== undefined) this.log.info({ source: this.source }, 'a source can be read again')
    this.failure = undefined
    this.storedFailure = undefined
  }

  /** All processes share this failure through the store. */
  stored(failure: string | undefined): void {
    this.storedFailure = failure
  }

  /**
   * Clears the failures that only this process knows when its lead ends: the next leader may store nothing about
   * them.
   */
  leadEnded(): void {
    this.refusals(NO_REFUSALS)
    this.failure = this.storedFailure
  }

  /** Followers keep serving their last contents meanwhile. */
  storeFailed(error: unknown): void {
    const reason = reasonOf(error)
    if (this.storeFailure !== reason) this.stateUnusable(error)
    this.storeFailure = reason
  }

  storeRecovered(): void {
    this.storeFailure = undefined
  }

  stateUnusable(error: unknown): void {
    this.log.warn(
      { source: this.source, reason: reasonOf(error), err: error },
      'the saved state cannot be used',
    )
  }

  notSaved(error: unknown): void {
    const { source } = this
    const reason = reasonOf(error)
    if (reason !== this.saveFailure)
      this.log.warn({ source, reason, err: error }, 'the state of a source cannot be saved')
    this.saveFailure = reason
  }

  saved(): void {
    if (this.saveFailure !== undefined)
      this.log.info({ source: this.source }, 'the state of a source is saved again')
    this.saveFailure = undefined
  }
}

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const { code } = error as NodeJS.ErrnoException
  // Messages of the file system repeat the path, which the log has beside it.
  return error.name === 'Error' && code !== undefined ? `${code}` : error.message
}

export type SyncMeter = ReturnType<typeof syncMeter>

/** The metrics of syncs. Their labels are names from the configuration, which are few. */
export function syncMeter(meter: Meter) {
  const syncs = meter.counter('registry_syncs_total', 'Syncs of a source', ['source', 'outcome'])
  const duration = meter.histogram('registry_sync_duration_seconds', 'Time that a sync took', ['source'])
  const held = meter.gauge('registry_source_versions', 'Server versions held from a source', ['source'])
  const refused = meter.gauge(
    'registry_refused_documents',
    'Documents that the last good sync of a source refused',
    ['source'],
  )
  const last = meter.gauge(
    'registry_last_good_sync_timestamp_seconds',
    'When a source was last read without a failure',
    ['source'],
  )
  const served = meter.gauge('registry_versions', 'Server versions that a registry serves', ['registry'])

  return {
    synced(source: string, outcome: string, seconds: number): void {
      syncs(1, { source, outcome })
      duration(seconds, { source })
      if (outcome !== 'failed') last(Date.now() / 1000, { source })
    },
    holding: (source: string, versions: number): void => held(versions, { source }),
    refused: (source: string, count: number): void => refused(count, { source }),
    serving: (registry: string, versions: number): void => served(versions, { registry }),
  }
}
