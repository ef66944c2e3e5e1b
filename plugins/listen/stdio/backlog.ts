/** What has been taken from the client and has not left for the target: so much of it, and no more is taken. */
export class Backlog {
  private readonly waiting = new Map<Promise<void>, number>()
  private total = 0

  /** `most` bytes beside the largest message, so that one that is stuck does not hold up those that are small. */
  constructor(private readonly most: number) {}

  /** Resolves when the message has left, or others may overtake it: after `patience` milliseconds, if there is room. */
  async leave(left: Promise<void>, bytes: number, patience: number): Promise<void> {
    this.waiting.set(left, bytes)
    this.total += bytes
    const gone = left.then(() => {
      this.waiting.delete(left)
      this.total -= bytes
    })
    await patient(gone, patience)
    while (this.total - Math.max(0, ...this.waiting.values()) > this.most) {
      await Promise.race(this.waiting.keys())
    }
  }
}

function patient(gone: Promise<void>, patience: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, patience)
    void gone.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
