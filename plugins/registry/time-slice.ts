import { setImmediate } from 'node:timers/promises'

// Long enough to get on, short enough that a request that comes meanwhile is not delayed.
const LONGEST_MS = 0.5

/** Cuts long work into slices: between them the event loop answers requests. */
export class TimeSlice {
  private since = performance.now()

  constructor(
    private readonly signal?: AbortSignal,
    private readonly longest = LONGEST_MS,
  ) {}

  /** Checked at every small step, so it is synchronous: a promise at each would cost more than the work. */
  get isOver(): boolean {
    return performance.now() - this.since > this.longest
  }

  throwIfAborted(): void {
    this.signal?.throwIfAborted()
  }

  /** Lets the event loop run, and begins the next slice. */
  async yield(): Promise<void> {
    this.throwIfAborted()
    await setImmediate()
    this.since = performance.now()
  }
}
