/** A request body that is being received. */
export interface IncomingBody {
  /** Bytes since the last sweep; infinite when it was not read meanwhile. */
  received: number
  /** Whether too few bytes had arrived at the last sweep. */
  wasSlow: boolean
  onTooSlow(): void
}

/** Finds bodies that stall or trickle. One sweep serves all: a timer for each would cost more than most bodies do. */
export class SlowBodies {
  private readonly bodies = new Set<IncomingBody>()
  private readonly timer: NodeJS.Timeout
  private readonly minBytes: number

  /**
   * A body may stall, or arrive at less than `rate` bytes a second, for `limit` milliseconds, and for half as long again
   * at most.
   */
  constructor(limit: number, rate: number) {
    this.minBytes = Math.max((rate * limit) / 2000, 1)
    this.timer = setInterval(() => this.sweep(), limit / 2).unref()
  }

  add(body: IncomingBody): void {
    body.wasSlow = false
    this.bodies.add(body)
  }

  delete(body: IncomingBody): void {
    this.bodies.delete(body)
  }

  close(): void {
    clearInterval(this.timer)
  }

  private sweep(): void {
    for (const body of this.bodies) {
      const wasSlow = body.received < this.minBytes
      const isTooSlow = wasSlow && body.wasSlow
      body.received = 0
      body.wasSlow = wasSlow
      if (!isTooSlow) continue
      this.bodies.delete(body)
      body.onTooSlow()
    }
  }
}
