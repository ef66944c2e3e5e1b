interface Keepsake {
  readonly value: unknown
  holders: number
}

/** A hold on something kept. Whoever lets go last closes it. */
interface Hold<T> {
  readonly value: T
  release(): Promise<void>
}

/** What outlives an exchange of lists: each is there while a list that asked for it is. */
export class Keepsakes {
  private readonly kept = new Map<string, Keepsake>()

  take<T>(key: string, open: () => T, close: (value: T) => void | Promise<void>): Hold<T> {
    const keepsake = this.kept.get(key) ?? { value: open(), holders: 0 }
    this.kept.set(key, keepsake)
    keepsake.holders++
    // The same plugin asked by the same key, so it is what its `open` makes.
    const value = keepsake.value as T
    return {
      value,
      release: async () => {
        keepsake.holders--
        if (keepsake.holders > 0) return
        this.kept.delete(key)
        await close(value)
      },
    }
  }
}
