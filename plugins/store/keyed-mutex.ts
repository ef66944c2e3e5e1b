/** Runs the work for each key one after the other, within this process. */
export class KeyedMutex {
  private readonly last = new Map<string, Promise<unknown>>()

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.last.get(key) ?? Promise.resolve()).then(work)
    const settled = turn.catch(() => {})
    this.last.set(key, settled)
    try {
      return await turn
    } finally {
      if (this.last.get(key) === settled) this.last.delete(key)
    }
  }
}
