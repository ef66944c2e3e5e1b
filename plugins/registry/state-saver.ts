import { OneAtATime } from './one-at-a-time.js'
import type { SyncReport } from './sync-report.js'

// A full disk may have room again soon, and the source may not change for weeks.
const RETRY = 10_000

/** Saves the state of a source for the next start; what is served does not depend on it. What fails is tried again. */
export class StateSaver {
  private timer: NodeJS.Timeout | undefined
  private readonly saves = new OneAtATime(() => this.save())

  constructor(
    private readonly write: () => Promise<void>,
    private readonly report: SyncReport,
    private readonly signal: AbortSignal,
  ) {}

  run(): Promise<void> {
    return this.saves.run()
  }

  get idle(): Promise<unknown> {
    return this.saves.idle
  }

  private async save(): Promise<void> {
    clearTimeout(this.timer)
    if (this.signal.aborted) return
    try {
      await this.write()
      this.report.saved()
    } catch (error) {
      if (this.signal.aborted) return
      this.report.notSaved(error)
      this.timer = setTimeout(() => void this.run(), RETRY).unref()
    }
  }
}
