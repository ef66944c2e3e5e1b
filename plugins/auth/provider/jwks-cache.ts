import { GatewayError, type HealthState, type Log, type Measure, UpstreamError } from 'sallyport'
import { messageOf } from 'sallyport/toolkit'
import type { FetchedKeys, JwksSource } from './jwks-source.js'
import type { ProviderKeys } from './signature.js'

/** The keys of the last fetch, and its time by the monotonic clock. They outlive a reload. */
export interface LatestKeys {
  fetched: FetchedKeys | undefined
  at: number
}

interface CacheOptions {
  readonly provider: string
  readonly source: JwksSource
  readonly latest: LatestKeys
  /** Milliseconds that stale keys are used when they cannot be fetched again. */
  readonly maxStale: number
  readonly log: Log
  readonly fetches: Measure
}

const FIRST_RETRY = 1000
const MAX_RETRY = 60_000
// Long enough that made-up key IDs do not flood the provider, short enough for a key rotation.
const REFETCH_COOLDOWN = 10_000

const NOT_FETCHED_YET = { cause: 'unreachable', reason: 'its keys have not been fetched yet' }

/** Where a verifier finds the keys of a provider. */
export interface KeySource {
  /** Incremented with every change of the keys. */
  readonly version: number
  /** The first fetch, while it is in progress. */
  readonly firstFetch: Promise<void> | undefined
  /** Why the keys cannot be fetched at the moment, as a cause class and for the log. */
  readonly failure: Unfetched | undefined
  readonly keys: ProviderKeys | undefined
  readonly ids: readonly string[]
  /** Why a key that is not among them may be a key of the provider all the same. */
  readonly uncertainty: Unfetched | undefined
  /** Fetches for an unknown key ID. */
  refetch(): Promise<void> | undefined
  load(): Promise<void>
}

interface Unfetched {
  readonly cause: string
  readonly reason: string
}

/**
 * The keys (JWKS) of a provider, fetched in the background from the start. A request waits for a fetch in two cases
 * only: the first fetch is still in progress, or the key ID of its token is unknown.
 */
export class JwksCache implements KeySource {
  version = 0
  firstFetch: Promise<void> | undefined
  failure: Unfetched | undefined
  // Not shared: when another list fetches new keys, this cache must still notice the change and clear its verdicts.
  private current: FetchedKeys | undefined
  // All times are of the monotonic clock.
  private fetchedAt: number
  private loading: Promise<void> | undefined
  private timer: NodeJS.Timeout | undefined
  private failures = 0
  private cooldownUntil = Number.NEGATIVE_INFINITY
  private stopped = false
  private notifyChange = (): void => {}

  constructor(private readonly options: CacheOptions) {
    this.current = options.latest.fetched
    this.fetchedAt = options.latest.at
  }

  /** Calls `listener` when the keys have changed. */
  onChange(listener: () => void): void {
    this.notifyChange = listener
  }

  /** Begins the first fetch, without waiting for it. */
  start(): void {
    this.firstFetch = this.load().finally(() => {
      this.firstFetch = undefined
    })
  }

  stop(): void {
    this.stopped = true
    clearTimeout(this.timer)
  }

  get keys(): ProviderKeys | undefined {
    const { current } = this
    if (current === undefined) return undefined
    const usableFor = current.freshFor + this.options.maxStale
    return performance.now() - this.fetchedAt < usableFor ? current.keys : undefined
  }

  get ids(): readonly string[] {
    return this.current?.ids ?? []
  }

  health(): HealthState {
    const problem = this.failure ?? (this.current === undefined ? NOT_FETCHED_YET : undefined)
    if (problem === undefined) return { status: 'ok' }
    return { status: 'degraded', reason: `${this.options.provider}: ${problem.reason}` }
  }

  get uncertainty(): Unfetched | undefined {
    const isPending = this.current === undefined || this.loading !== undefined
    return this.failure ?? (isPending ? NOT_FETCHED_YET : undefined)
  }

  /**
   * Fetches for an unknown key ID, at most once in a cooldown. The cooldown begins with the last such fetch and not
   * with the start, so that a rotation right after the start does not wait.
   */
  refetch(): Promise<void> | undefined {
    if (this.loading !== undefined) return this.loading
    if (performance.now() < this.cooldownUntil) return undefined
    this.cooldownUntil = performance.now() + REFETCH_COOLDOWN
    return this.load()
  }

  /** One fetch at a time; it never rejects. */
  load(): Promise<void> {
    this.loading ??= this.fetchKeys().finally(() => {
      this.loading = undefined
    })
    return this.loading
  }

  private async fetchKeys(): Promise<void> {
    clearTimeout(this.timer)
    try {
      this.accept(await this.options.source.read())
    } catch (error) {
      this.fail(error)
    }
  }

  private accept(fetched: FetchedKeys): void {
    const { provider, log, fetches, latest } = this.options
    if (this.failure !== undefined) log.info({ provider }, 'the keys of the provider can be fetched again')
    const { current } = this
    const isChanged = current !== undefined && fetched.text !== current.text
    // Unchanged keys keep the same object, which holds the imported keys.
    this.current = isChanged || current === undefined ? fetched : { ...current, freshFor: fetched.freshFor }
    this.fetchedAt = performance.now()
    latest.fetched = this.current
    latest.at = this.fetchedAt
    this.failure = undefined
    this.failures = 0
    fetches(1, { provider, outcome: 'ok' })
    if (isChanged) {
      this.version++
      this.notifyChange()
      log.info({ provider, keys: fetched.ids.length }, 'the keys of the provider have changed')
    }
    this.schedule(fetched.freshFor * (0.9 + Math.random() / 10))
  }

  private fail(error: unknown): void {
    // A fetch fails when the stop closes its connection.
    if (this.stopped) return
    const { provider, log, fetches } = this.options
    const reason = messageOf(error)
    const cause = unavailableCause(error)
    if (reason !== this.failure?.reason) {
      log.warn({ provider, cause, reason }, 'the keys of the provider cannot be fetched')
    }
    this.failure = { cause, reason }
    fetches(1, { provider, outcome: cause })
    const wait = Math.min(FIRST_RETRY * 2 ** this.failures++, MAX_RETRY)
    this.schedule(wait * (0.5 + Math.random() / 2))
  }

  private schedule(wait: number): void {
    if (this.stopped) return
    this.timer = setTimeout(() => void this.load(), wait)
    this.timer.unref()
  }
}

/** The cause class of a failed fetch: not reached, metadata of another issuer, or an invalid response. */
function unavailableCause(error: unknown): 'unreachable' | 'issuer' | 'answer' {
  if (error instanceof UpstreamError) return 'unreachable'
  return error instanceof GatewayError && error.code === 'ISSUER_MISMATCH' ? 'issuer' : 'answer'
}
