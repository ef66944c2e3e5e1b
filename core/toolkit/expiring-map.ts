interface Timed<T> {
  readonly value: T
  /** Milliseconds since the epoch. */
  readonly until: number
  /** The same by the monotonic clock: the value expires at the earlier of the two. */
  readonly deadline: number
  /** Whether it was read since it was last moved to the end of the queue. */
  wasRead: boolean
}

/**
 * A bounded cache of values, each with its own expiry. When it is full, it evicts the oldest values that were not
 * read since (second chance): a read moves no entry. For a secret, use its hash as the key.
 */
export class ExpiringMap<T> {
  private readonly entries = new Map<string, Timed<T>>()

  constructor(private readonly capacity: number) {}

  get(key: string): T | undefined {
    const found = this.entries.get(key)
    if (found === undefined) return undefined
    if (isExpired(found)) {
      this.entries.delete(key)
      return undefined
    }
    found.wasRead = true
    return found.value
  }

  /** `until` is in milliseconds since the epoch. */
  set(key: string, value: T, until: number): void {
    this.entries.delete(key)
    if (this.entries.size >= this.capacity) this.evict()
    this.entries.set(key, { value, until, deadline: performance.now() + until - Date.now(), wasRead: false })
  }

  // Evicts many at once: a map finds its oldest entry by stepping over all entries that were deleted before.
  private evict(): void {
    const least = this.capacity - Math.ceil(this.capacity / 50)
    for (const [oldest, one] of this.entries) {
      if (this.entries.size <= least) break
      this.entries.delete(oldest)
      if (!one.wasRead || isExpired(one)) continue
      // The entry moves to the end of the queue once: the second time it counts as unread.
      one.wasRead = false
      this.entries.set(oldest, one)
    }
  }

  delete(key: string): void {
    this.entries.delete(key)
  }

  clear(): void {
    this.entries.clear()
  }
}

const isExpired = ({ until, deadline }: Timed<unknown>): boolean =>
  until <= Date.now() || deadline <= performance.now()
