import type { LocalJWKSet } from 'jose'
import type { HealthState, Log, Measure } from 'sallyport'
import { unavailableCause } from './failures.js'
import type { FetchedKeys, KeySource } from './key-source.js'

interface RingOptions {
  readonly provider: string
  readonly source: KeySource
  /** Milliseconds that keys work on when they cannot be fetched again. */
  readonly maxStale: number
  readonly log: Log
  readonly fetches: Measure
}

const FIRST_RETRY = 1000
const LONGEST_RETRY = 60_000
// Long enough that made-up key ids cost the provider nothing, short enough for a rotation.
const REFETCH_COOL_DOWN = 10_000

/**
 * A provider's keys, fetched in the background from the start. A request waits for a fetch in two cases only: the
 * first one is still under way, or a key is asked for that nobody has seen.
 */
export class KeyRing {
  /** Rises with every change of the keys. */
  version = 0
  private held: FetchedKeys | undefined
  private heldSince = 0
  private loading: Promise<void> | undefined
  private first: Promise<void> | undefined
  private timer: NodeJS.Timeout | undefined
  private failures = 0
  private coolUntil = 0
  private stopped = false
  private changed = (): void => {}
  private failure: { readonly cause: string; readonly reason: string } | undefined

  constructor(private readonly options: RingOptions) {}

  /** Calls `listener` whenever the keys are others than before. */
  onChange(listener: () => void): void {
    this.changed = listener
  }

  /** Begins to fetch, and waits for nothing. */
  start(): void {
    this.first = this.load().finally(() => {
      this.first = undefined
    })
  }

  stop(): void {
    this.stopped = true
    clearTimeout(this.timer)
  }

  get keys(): LocalJWKSet | undefined {
    const { held } = this
    if (held === undefined) return undefined
    const usableFor = held.freshFor + this.options.maxStale
    return Date.now() - this.heldSince < usableFor ? held.keys : undefined
  }

  get ids(): readonly string[] {
    return this.held?.ids ?? []
  }

  /** The fetch that every token has to wait for, as long as there has been none. */
  get firstFetch(): Promise<void> | undefined {
    return this.first
  }

  /** Why the keys cannot be fetched right now, as a cause class and for the log. */
  get trouble(): { readonly cause: string; readonly reason: string } | undefined {
    return this.failure
  }

  health(): HealthState {
    if (this.failure !== undefined) return { status: 'degraded', reason: this.failure.reason }
    return this.held === undefined ? { status: 'degraded', reason: 'no keys yet' } : { status: 'ok' }
  }

  /**
   * Fetches for the sake of a key that is not here, at most once in a cool-down. It counts from the last such fetch
   * and not from the start, so that a rotation right after the start waits for nothing.
   */
  refetch(): Promise<void> | undefined {
    if (this.loading !== undefined) return this.loading
    if (Date.now() < this.coolUntil) return undefined
    this.coolUntil = Date.now() + REFETCH_COOL_DOWN
    return this.load()
  }

  /** One fetch at a time; it settles, and never fails. */
  load(): Promise<void> {
    this.loading ??= this.attempt().finally(() => {
      this.loading = undefined
    })
    return this.loading
  }

  private async attempt(): Promise<void> {
    clearTimeout(this.timer)
    try {
      this.accept(await this.options.source.read())
    } catch (error) {
      this.reject(error)
    }
  }

  private accept(fetched: FetchedKeys): void {
    const { provider, log, fetches } = this.options
    if (this.failure !== undefined) log.info({ provider }, 'the keys of the provider can be fetched again')
    const { held } = this
    const changed = held !== undefined && fetched.text !== held.text
    // The same keys stay the same object: jose has imported them already.
    this.held = changed || held === undefined ? fetched : { ...held, freshFor: fetched.freshFor }
    this.heldSince = Date.now()
    this.failure = undefined
    this.failures = 0
    fetches(1, { provider, outcome: 'ok' })
    if (changed) {
      this.version++
      this.changed()
      log.info({ provider, keys: fetched.ids.length }, 'the keys of the provider have changed')
    }
    this.schedule(fetched.freshFor * (0.9 + Math.random() / 10))
  }

  private reject(error: unknown): void {
    // Whoever closed the connections knows.
    if (this.stopped) return
    const { provider, log, fetches } = this.options
    const reason = error instanceof Error ? error.message : String(error)
    const cause = unavailableCause(error)
    if (reason !== this.failure?.reason) {
      log.warn({ provider, cause, reason }, 'the keys of the provider cannot be fetched')
    }
    this.failure = { cause, reason }
    fetches(1, { provider, outcome: cause })
    const wait = Math.min(FIRST_RETRY * 2 ** this.failures++, LONGEST_RETRY)
    this.schedule(wait * (0.5 + Math.random() / 2))
  }

  private schedule(wait: number): void {
    if (this.stopped) return
    this.timer = setTimeout(() => void this.load(), wait)
    this.timer.unref()
  }
}
