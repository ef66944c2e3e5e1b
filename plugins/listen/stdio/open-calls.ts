import type { Call } from './call.js'

interface Room {
  readonly requests: number
  readonly bytes: number
}

/** How many requests are open: sent, and neither answered, cancelled nor failed. Each of a batch counts. */
export class OpenCalls {
  private requests = 0
  private bytes = 0

  constructor(private readonly most: Room) {}

  /** Counts a call until nothing of it is open; `false` when there is no room for it. */
  take(call: Call): boolean {
    const { bytes } = call.message
    const count = call.unanswered.length
    // One that is large may always come, beside what leaves room.
    if (this.requests + count > this.most.requests || this.bytes > this.most.bytes) return false
    this.requests += count
    this.bytes += bytes.length
    call.onSettled((settled) => {
      this.requests -= settled
    })
    void call.closed.then(() => {
      this.bytes -= bytes.length
    })
    return true
  }
}
