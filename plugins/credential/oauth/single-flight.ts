/** One attempt at a time, shared by all callers. After a failure there is a pause, in which they get its error. */
export class SingleFlight<T> {
  private inProgress: Promise<T> | undefined
  private lastFailure: { readonly error: unknown; readonly until: number } | undefined

  constructor(private readonly pause: number) {}

  /** The error of the last attempt, if it failed. */
  get failure(): unknown {
    return this.lastFailure?.error
  }

  async run(work: () => Promise<T>): Promise<T> {
    const { lastFailure } = this
    if (lastFailure !== undefined && performance.now() < lastFailure.until) throw lastFailure.error
    this.inProgress ??= this.attempt(work)
    return this.inProgress
  }

  /** What failed is not needed any more. */
  forgetFailure(): void {
    this.lastFailure = undefined
  }

  private async attempt(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work()
      this.lastFailure = undefined
      return result
    } catch (error) {
      this.lastFailure = { error, until: performance.now() + this.pause }
      throw error
    } finally {
      this.inProgress = undefined
    }
  }
}
