/** Runs work one after the other, in the order of the calls, whether the work before it failed or not. */
export class Sequence {
  private last: Promise<unknown> = Promise.resolve()

  run<T>(work: () => Promise<T>): Promise<T> {
    const current = this.last.then(work)
    this.last = current.catch(() => {})
    return current
  }

  /** Settles when all work that was started so far is over. */
  get idle(): Promise<unknown> {
    return this.last
  }
}
