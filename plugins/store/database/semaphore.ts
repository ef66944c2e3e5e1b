interface Waiting {
  readonly begin: () => void
  readonly fail: (reason: unknown) => void
}

/** Lets at most so many callers run at once; others wait in order. */
export class Semaphore {
  private readonly waiting = new Set<Waiting>()

  constructor(private free: number) {}

  /** Settles when this caller may begin; the caller calls `end` when it is done. */
  async begin(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.free > 0) {
      this.free--
      return
    }
    let abort = (): void => {}
    try {
      await new Promise<void>((begin, fail) => {
        const waiting = { begin, fail }
        this.waiting.add(waiting)
        abort = () => {
          if (this.waiting.delete(waiting)) fail(signal.reason)
        }
        signal.addEventListener('abort', abort)
      })
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  end(): void {
    const [next] = this.waiting
    if (next === undefined) this.free++
    else if (this.waiting.delete(next)) next.begin()
  }

  /** Fails the waiting callers: each would wait for the same silent server. */
  fail(reason: unknown): void {
    for (const { fail } of this.waiting) fail(reason)
    this.waiting.clear()
  }
}
