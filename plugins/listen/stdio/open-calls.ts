import type { Call } from './call.js'

interface Limits {
  readonly requests: number
  readonly bytes: number
}

/** How many requests are open: sent, and neither answered, cancelled nor failed. Each of a batch counts. */
export class OpenCalls {
  private requests = 0
  private bytes = 0

  constructor(private readonly limits: Limits) {}

  /** Counts a call until no request in it is open; `false` when there is no room for it. */
  add(call: Call): boolean {
    const { bytes } = call.message
    const count = call.unanswered.length
    // The bytes of this call do not count, so that one large call always fits.
    if (this.requests + count > this.limits.requests || this.bytes > this.limits.bytes) return false
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
