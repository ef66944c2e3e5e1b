/** Work that runs once at a time. Who asks for it while it runs gets the run after that, which sees what changed meanwhile. */
export class OneAtATime<T> {
  private running: Promise<T> | undefined
  private next: Promise<T> | undefined

  constructor(private readonly work: () => Promise<T>) {}

  run(): Promise<T> {
    if (this.running === undefined && this.next === undefined) return this.begin()
    this.next ??= this.idle.then(() => {
      this.next = undefined
      return this.begin()
    })
    return this.next
  }

  /** Settles when none is running. */
  get idle(): Promise<unknown> {
    return this.running?.catch(() => {}) ?? Promise.resolve()
  }

  private begin(): Promise<T> {
    this.running = this.work().finally(() => {
      this.running = undefined
    })
    return this.running
  }
}
