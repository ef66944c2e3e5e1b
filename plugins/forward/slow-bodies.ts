/** A body on its way in. */
export interface Arriving {
  /** Set whenever something of it came, or when it is us who do not read. */
  moved: boolean
  tooSlow(): void
}

/** Finds bodies that stand still. One sweep for all of them: a timer each would cost more than most bodies do. */
export class SlowBodies {
  private readonly arriving = new Map<Arriving, boolean>()
  private readonly timer: NodeJS.Timeout

  /** A body may stand still for `limit` milliseconds, and for half as long again at most. */
  constructor(limit: number) {
    this.timer = setInterval(() => this.sweep(), limit / 2).unref()
  }

  add(body: Arriving): void {
    this.arriving.set(body, false)
  }

  delete(body: Arriving): void {
    this.arriving.delete(body)
  }

  close(): void {
    clearInterval(this.timer)
  }

  private sweep(): void {
    for (const [body, warned] of this.arriving) {
      if (body.moved) {
        body.moved = false
        this.arriving.set(body, false)
      } else if (warned) {
        this.arriving.delete(body)
        body.tooSlow()
      } else {
        this.arriving.set(body, true)
      }
    }
  }
}
