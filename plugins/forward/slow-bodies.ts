import { Crowd } from 'sallyport'

/** A body on its way in. */
export interface Arriving {
  /** Set whenever something of it came, or when it is us who do not read. */
  moved: boolean
  /** Whether it stood still at the last look. */
  stood: boolean
  tooSlow(): void
}

/** Finds bodies that stand still. One sweep for all of them: a timer each would cost more than most bodies do. */
export class SlowBodies {
  private readonly arriving = new Crowd<Arriving>()
  private readonly timer: NodeJS.Timeout

  /** A body may stand still for `limit` milliseconds, and for half as long again at most. */
  constructor(limit: number) {
    this.timer = setInterval(() => this.sweep(), limit / 2).unref()
  }

  add(body: Arriving): void {
    body.stood = false
    this.arriving.enter(body)
  }

  delete(body: Arriving): void {
    this.arriving.leave(body)
  }

  close(): void {
    clearInterval(this.timer)
  }

  private sweep(): void {
    for (const body of this.arriving.now()) {
      const { moved, stood } = body
      body.moved = false
      body.stood = !moved
      if (moved || !stood) continue
      this.arriving.leave(body)
      body.tooSlow()
    }
  }
}
