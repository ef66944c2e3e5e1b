import { LONGEST_WAIT } from 'sallyport/toolkit'
import type { SourceSync } from './source-sync.js'
import type { SyncResult } from './sync-result.js'

const FIRST_RETRY = 1_000
const LONGEST_RETRY = 300_000

/**
 * Syncs a source at its interval, when it reports a change, and after a failure: with exponential backoff and jitter, and
 * not before its `Retry-After`. The signal ends it.
 */
export class Schedule {
  private timer: NodeJS.Timeout | undefined
  private failures = 0
  private unwatch: (() => void) | undefined

  constructor(
    private readonly sync: SourceSync,
    private readonly signal: AbortSignal,
  ) {}

  /** Syncs for the first time. */
  start(): Promise<SyncResult> {
    this.signal.addEventListener('abort', () => this.stop(), { once: true })
    this.unwatch = this.sync.source.watch?.(() => void this.run())
    return this.run()
  }

  async run(): Promise<SyncResult> {
    const result = await this.sync.sync()
    this.failures = result.outcome === 'failed' ? this.failures + 1 : 0
    const retryAfter = result.outcome === 'failed' ? (result.retryAfter ?? 0) * 1_000 : 0
    this.setTimer(Math.max(this.delay(), retryAfter))
    return result
  }

  private stop(): void {
    this.unwatch?.()
    clearTimeout(this.timer)
  }

  private delay(): number {
    const { every = Number.POSITIVE_INFINITY } = this.sync.source
    return this.failures === 0 ? every * jitter() : Math.min(backOff(this.failures), every * jitter())
  }

  private setTimer(milliseconds: number): void {
    clearTimeout(this.timer)
    if (this.signal.aborted || milliseconds === Number.POSITIVE_INFINITY) return
    // A delay of more than 31 bits would run at once.
    this.timer = setTimeout(() => void this.run(), Math.min(milliseconds, LONGEST_WAIT))
    this.timer.unref()
  }
}

/** Milliseconds until the next attempt. */
export const backOff = (failures: number): number =>
  Math.min(FIRST_RETRY * 2 ** (failures - 1), LONGEST_RETRY) * jitter()

const jitter = (): number => 0.9 + Math.random() * 0.2
