import { waitAtMost } from 'sallyport/toolkit'

/** Limits the bytes of messages that were read from the client and are not sent to the target yet. */
export class Backlog {
  private readonly waiting = new Map<Promise<void>, number>()
  private total = 0

  /** `maxBytes` not counting the largest message, so that one that is stuck does not block small ones. */
  constructor(private readonly maxBytes: number) {}

  /** Resolves when the message is sent, or others may overtake it: after `timeout` milliseconds, if there is room. */
  async wait(sent: Promise<void>, bytes: number, timeout: number): Promise<void> {
    this.waiting.set(sent, bytes)
    this.total += bytes
    const done = sent.then(() => {
      this.waiting.delete(sent)
      this.total -= bytes
    })
    await waitAtMost(timeout, done)
    while (this.total - Math.max(0, ...this.waiting.values()) > this.maxBytes) {
      await Promise.race(this.waiting.keys())
    }
  }
}
