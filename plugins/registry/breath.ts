import { setImmediate } from 'node:timers/promises'

// Long enough to get on, short enough that a request that comes meanwhile does not notice.
const LONGEST_MS = 0.5

/** Cuts long work into slices: between them the event loop answers requests. */
export class Breath {
  #since = performance.now()

  constructor(
    private readonly signal?: AbortSignal,
    private readonly longest = LONGEST_MS,
  ) {}

  /** For a thread that has nobody to answer. */
  static held(): Breath {
    return new Breath(undefined, Number.POSITIVE_INFINITY)
  }

  /** Whether it is time to let others go first. Asked for every small step, so it waits for nothing. */
  get due(): boolean {
    return performance.now() - this.#since > this.longest
  }

  /** Throws when nobody waits for the work any more. */
  mayGoOn(): void {
    this.signal?.throwIfAborted()
  }

  async take(): Promise<void> {
    this.mayGoOn()
    await setImmediate()
    this.#since = performance.now()
  }
}
