import type { SharedSource } from 'sallyport'
import { LONGEST_WAIT } from 'sallyport/toolkit'
import type { SourceSync } from './source-sync.js'
import type { SyncResult } from './sync-report.js'

const FIRST_RETRY = 1_000
const LONGEST_RETRY = 300_000
// The leader may have changed, or its source may be reachable again.
const LONGEST_FOLLOW_RETRY = 5_000

/** Reads a source while this process leads it, else follows the leader. A source that is not shared is always led. */
export class SourceReplica {
  private schedule: Schedule | undefined
  private timer: NodeJS.Timeout | undefined
  private failures = 0
  private ends: readonly (() => void)[] = []
  private stepDown: (() => Promise<void>) | undefined
  private settle = (): void => {}

  constructor(
    readonly sync: SourceSync,
    private readonly shared: SharedSource | undefined,
    private readonly signal: AbortSignal,
  ) {}

  /** Settles after the first contents or the first failure. */
  async start(): Promise<void> {
    const { shared, sync, signal } = this
    const inherited = await sync.inherit()
    if (shared === undefined) {
      const schedule = this.lead(signal)
      if (!inherited) await sync.catchUp()
      const first = schedule?.start()
      // A restored state is served without waiting for the network; after a reload, the operator expects the new state.
      if (inherited || !sync.loaded) await first
      return
    }
    const settled = new Promise<void>((resolve) => {
      this.settle = resolve
    })
    this.ends = [
      shared.watch(() => void this.follow()),
      shared.onSyncRequest(() => void this.schedule?.run()),
    ]
    await this.follow()
    if (signal.aborted) return
    this.stepDown = shared.lead(
      (leading) =>
        void this.lead(AbortSignal.any([leading, signal]))
          ?.start()
          .then(this.settle),
    )
    return settled
  }

  /** Syncs when this process leads; else requests a sync from the leader. */
  async request(): Promise<SyncResult | { readonly outcome: 'requested' }> {
    if (this.schedule !== undefined) return this.schedule.run()
    await this.shared?.requestSync()
    return { outcome: 'requested' }
  }

  /** Call it after the signal was aborted. */
  async stop(): Promise<void> {
    clearTimeout(this.timer)
    for (const end of this.ends) end()
    await this.sync.idle
    await this.stepDown?.()
  }

  private lead(signal: AbortSignal): Schedule | undefined {
    if (signal.aborted) return undefined
    const schedule = new Schedule(this.sync, signal)
    this.schedule = schedule
    signal.addEventListener('abort', () => {
      if (this.schedule === schedule) this.schedule = undefined
    })
    this.sync.lead(signal)
    return schedule
  }

  private async follow(): Promise<void> {
    clearTimeout(this.timer)
    const isCurrent = (await this.sync.catchUp()) && this.sync.loaded
    this.failures = isCurrent ? 0 : this.failures + 1
    if (this.sync.loaded) this.settle()
    if (this.signal.aborted || isCurrent) return
    this.timer = setTimeout(() => void this.follow(), Math.min(backOff(this.failures), LONGEST_FOLLOW_RETRY))
    this.timer.unref()
  }
}

/**
 * Syncs a source at its interval, when it reports a change, and after a failure: with exponential backoff and jitter,
 * and not before its `Retry-After`. The signal ends the loop.
 */
class Schedule {
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
const backOff = (failures: number): number =>
  Math.min(FIRST_RETRY * 2 ** (failures - 1), LONGEST_RETRY) * jitter()

const jitter = (): number => 0.9 + Math.random() * 0.2
