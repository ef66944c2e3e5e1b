/** What is asked for runs one after the other, in order, whether the one before it failed or not. */
export class Sequence {
  private last: Promise<unknown> = Promise.resolve()

  run<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.last.then(work)
    this.last = turn.catch(() => {})
    return turn
  }

  /** Settles when all that was asked for is over. */
  get idle(): Promise<unknown> {
    return this.last
  }
}
