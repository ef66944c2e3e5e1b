const MOST = 32
/** Milliseconds that one waits at most. */
const DELAY = 20

/**
 * Tells of requests that have ended: of several in a row while others are under way, since the processor would otherwise
 * fetch the code for it anew each time, and a call that is audited would take 5 microseconds more.
 */
export class EndedBatch<Ended> {
  // One list for all of them: V8 allocates lists that often live long as old objects, which keep what they hold.
  private readonly waiting: (Ended | undefined)[] = Array.from({ length: MOST })
  private count = 0
  private timer: NodeJS.Timeout | undefined
  private underWay = 0
  private isOver = false

  constructor(
    private readonly tell: (ended: Ended) => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  begun(): void {
    this.underWay++
  }

  ended(ended: Ended): void {
    this.waiting[this.count++] = ended
    if (--this.underWay === 0 || this.isOver || this.count === MOST) this.flush()
    else this.timer ??= setTimeout(this.flush, DELAY).unref()
  }

  readonly flush = (): void => {
    clearTimeout(this.timer)
    this.timer = undefined
    const ended = this.waiting.slice(0, this.count)
    this.waiting.fill(undefined)
    this.count = 0
    for (const each of ended) if (each !== undefined) this.tellSafely(each)
  }

  /** What fails of one takes nothing from the next. */
  private tellSafely(ended: Ended): void {
    // Not `runSafely`: it would take a closure for each request.
    try {
      this.tell(ended)
    } catch (error) {
      this.failed(error)
    }
  }

  /** From now on nothing waits. */
  stop(): void {
    this.isOver = true
    this.flush()
  }
}
